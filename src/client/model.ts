/** How closeness is measured: L2, the sum of absolute differences, differing positions, 1 - cos. */
export type Similarity = 'Euclidean' | 'Manhattan' | 'Hamming' | 'Cosine';

/** What the content of a point is: a text, or an image as a reference or as data. */
export type ContentType = 'Text' | 'Image';

/** What a key of metadata may have. An array has items of one type. */
export type MetadataValue =
  string | number | boolean | null | readonly string[] | readonly number[] | readonly boolean[];

/**
 * A flat object; at most 64 KiB of compact JSON. Numbers are finite, no key begins with `$`. A value
 * that is null is kept as it is; one that is undefined is left out.
 */
export type Metadata = Readonly<Record<string, MetadataValue | undefined>>;

/** What the members of a type have to be for it to be metadata: an interface of one's own may be. */
export type MetadataOf<Type> = { readonly [Key in keyof Type]: MetadataValue | undefined };

/** The parts of a point that an answer may hold besides its id. */
export type Part = 'vector' | 'content' | 'contentType' | 'metadata';

/** The same of what a search finds. */
export type SearchPart = Part | 'distance';

/** A point that is to be stored. */
export interface NewPoint<Own extends MetadataOf<Own> = Metadata> {
  /** A UUID in the form 8-4-4-4-12, not nil; the client draws one if there is none. */
  readonly id?: string | undefined;
  /** As many finite values of single precision as the service has dimensions. */
  readonly vector: Float32Array | readonly number[];
  /** Any well-formed Unicode; empty unless told otherwise. */
  readonly content?: string | undefined;
  /** Text unless told otherwise. */
  readonly contentType?: ContentType | undefined;
  /** What filters choose points by; none unless told otherwise. */
  readonly metadata?: Own | null | undefined;
}

/** A point as it is answered: its id, and the parts that were asked for. */
export interface Point {
  /** A UUID in lower case. */
  readonly id: string;
  /** To the query, in the unit of its similarity. */
  readonly distance?: number;
  /** Bit for bit as it was stored. */
  readonly vector?: Float32Array;
  /** As it was stored; empty for a point that has none. */
  readonly content?: string;
  /** What the content is. */
  readonly contentType?: ContentType;
  /** null for a point that has none. */
  readonly metadata?: Metadata | null;
}

/** A new payload: a part that is given replaces the old one whole, one that is absent stays. */
export interface PointUpdate<Own extends MetadataOf<Own> = Metadata> {
  /** A UUID. */
  readonly id: string;
  /** The new content; an empty text clears it. */
  readonly content?: string | undefined;
  /** What the content is from now on. */
  readonly contentType?: ContentType | undefined;
  /** null clears it. */
  readonly metadata?: Own | null | undefined;
}

/** A question for the nearest points of a vector, or of a point that is stored. */
export type Query = QueryOptions & (QueryByVector | QueryByPoint);

/** The vector of a query. */
export interface QueryByVector {
  /** As many finite values of single precision as the service has dimensions. */
  readonly vector: Float32Array | readonly number[];
  /** Not beside a vector. */
  readonly like?: undefined;
}

/** A point in place of the vector of a query. */
export interface QueryByPoint {
  /** The id of a point whose vector is taken; the point itself is left out. */
  readonly like: string;
  /** Not beside a point. */
  readonly vector?: undefined;
}

/** What a query says besides where it begins. */
export interface QueryOptions {
  /** How closeness is measured. */
  readonly similarity: Similarity;
  /** The greatest number of points, at least 1. */
  readonly limit: number;
  /** The search breadth; 0 or nothing for the default of the service. */
  readonly ef?: number | undefined;
  /** Compares all points. */
  readonly exact?: boolean | undefined;
  /** Leaves out what is farther away, in the unit of the similarity; a finite number from 0 on. */
  readonly maxDistance?: number | undefined;
  /** Leaves out points that do not pass. */
  readonly filter?: Filter | undefined;
  /** Distance, content and metadata unless told otherwise; `[]` for ids alone. */
  readonly include?: readonly SearchPart[] | undefined;
}

/** A value of metadata that a filter asks for. */
export type FilterValue = string | number | boolean;

/** What a field has to be: all of these have to hold. An array does where one of its items does. */
export interface FilterOperators {
  /** The same value, of the same type. */
  readonly $eq?: FilterValue;
  /** Passes whatever `$eq` does not, what has no such field included. */
  readonly $ne?: FilterValue;
  /** Greater; strings by their code points. */
  readonly $gt?: string | number;
  /** Greater or equal. */
  readonly $gte?: string | number;
  /** Less; strings by their code points. */
  readonly $lt?: string | number;
  /** Less or equal. */
  readonly $lte?: string | number;
  /** One of these values; of none, never. */
  readonly $in?: readonly FilterValue[];
  /** Passes whatever `$in` does not. */
  readonly $nin?: readonly FilterValue[];
  /** Whether there is a value other than null; an empty array is one. */
  readonly $exists?: boolean;
}

/**
 * Which points pass: those for which all members hold. A key of metadata, `$id` and `$content_type`
 * have a value or operators; `{}` passes every point. A member that is undefined is refused, as without
 * it the filter would pass more. docs/FILTERS.md has every case.
 */
export type Filter = {
  /** All of these pass. */
  readonly $and?: readonly Filter[];
  /** One of these passes. */
  readonly $or?: readonly Filter[];
  /** This one does not pass. */
  readonly $not?: Filter;
} & {
  readonly [field: string]: FilterValue | FilterOperators | Filter | readonly Filter[];
} & {
  // Not a filter, which a misspelled operator would be.
  readonly [field: `${NameStart}${string}`]: FilterValue | FilterOperators;
};

// prettier-ignore
/** How the names of most fields begin; TypeScript cannot say: with anything but `$`. */
type NameStart =
  | 'a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g' | 'h' | 'i' | 'j' | 'k' | 'l' | 'm'
  | 'n' | 'o' | 'p' | 'q' | 'r' | 's' | 't' | 'u' | 'v' | 'w' | 'x' | 'y' | 'z'
  | 'A' | 'B' | 'C' | 'D' | 'E' | 'F' | 'G' | 'H' | 'I' | 'J' | 'K' | 'L' | 'M'
  | 'N' | 'O' | 'P' | 'Q' | 'R' | 'S' | 'T' | 'U' | 'V' | 'W' | 'X' | 'Y' | 'Z'
  | '0' | '1' | '2' | '3' | '4' | '5' | '6' | '7' | '8' | '9' | '_';

/** The order in which points were written; a replaced or updated one counts as written then. */
export type Order = 'oldest' | 'newest';

/** What became of an upsert: its three numbers add up to all points. */
export interface Upserted {
  /** The ids of all points, in their order. */
  readonly ids: readonly string[];
  /** Points that are new. */
  readonly stored: number;
  /** Points whose ids were there. */
  readonly replaced: number;
  /** Points that were not stored, since their ids were there. */
  readonly kept: number;
}

/** What was found of the ids that were asked for. */
export interface Got {
  /** Those that are there, in the order of their ids in the question, each once. */
  readonly points: readonly Point[];
  /** The ids of those that are not. */
  readonly missing: readonly string[];
}

/** What became of a delete. */
export interface Deleted {
  /** The number of points that were there. */
  readonly deleted: number;
  /** The ids of points that are not there. */
  readonly missing: readonly string[];
}

/** What became of an update. */
export interface Updated {
  /** The number of points that were there. */
  readonly updated: number;
  /** The ids of points that are not there. */
  readonly missing: readonly string[];
}

/** A page of all points. */
export interface Page {
  /** In the order that was asked for. */
  readonly points: readonly Point[];
  /** What the next page comes after; null at the end. It stays valid when the service restarts. */
  readonly next: string | null;
}

/** How far the graph of a similarity is; searches scan what it does not hold. */
export interface Graph {
  /** That of the searches that walk it. */
  readonly similarity: Similarity;
  /** One that failed is begun anew by itself. */
  readonly state: 'building' | 'ready' | 'failed';
  /** Points that it is to hold, deleted ones included until their slots are free. */
  readonly slots: number;
  /** Those that it holds so far. */
  readonly linked: number;
  /** Memory that it takes, about. */
  readonly bytes: number;
  /** Since the last search that could use it, or since the start of the service. */
  readonly idleSeconds: number;
}

/** The part of the filter index for one field; filters read the points that are not in it. */
export interface FilterIndex {
  /** A key of metadata, or `$content_type`. */
  readonly field: string;
  /** One that is scanned has no room (`maxFilterIndexBytes`): filters by it read the points. */
  readonly state: 'building' | 'ready' | 'scanned';
  /** Memory that it takes; of a field that is scanned, that it would take. */
  readonly bytes: number;
}

/** The settings that bound requests and memory. */
export interface Limits {
  /** Bytes of one request (MAX_REQUEST_BYTES). */
  readonly maxRequestBytes: number;
  /** Items of one batch (MAX_BATCH). */
  readonly maxBatch: number;
  /** UTF-8 bytes of one content (MAX_CONTENT_BYTES). */
  readonly maxContentBytes: number;
  /** Candidates of one `searchAll`: the sum of max(ef, min(limit, points)) (MAX_SEARCH_WORK). */
  readonly maxSearchWork: number;
  /** Bytes of all requests that are being answered, and of their answers (MAX_INFLIGHT_BYTES). */
  readonly maxInflightBytes: number;
  /** Bytes of memory that the filter index takes (MAX_FILTER_INDEX_BYTES). */
  readonly maxFilterIndexBytes: number;
}

/** What the service is, holds and bounds. */
export interface Info {
  /** That of vectord, such as 1.2.3. */
  readonly version: string;
  /** Values of each vector. */
  readonly dimension: number;
  /** How many there are. */
  readonly points: number;
  /** Space that the data folder takes on its disk; null where the system does not tell. */
  readonly bytes: number | null;
  /** One for each similarity that was searched under lately, or is kept warm. */
  readonly graphs: readonly Graph[];
  /** A part for each field that was filtered by, in the order of the fields. */
  readonly filterIndex: readonly FilterIndex[];
  /** What requests may take. */
  readonly limits: Limits;
}

/** How far a bulk load is. */
export interface BulkProgress {
  /** Points that are new. */
  readonly stored: number;
  /** Points whose ids were there. */
  readonly replaced: number;
  /** Points that were not stored, since their ids were there. */
  readonly kept: number;
  /** All that are acknowledged: stored, replaced and kept. */
  readonly points: number;
  /** Of the source's points the first so many are all acknowledged: a load may go on behind them. */
  readonly leading: number;
  /** What they took in the requests. */
  readonly bytes: number;
}
