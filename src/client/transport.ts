import type { CheckedFilter } from './filter.js';
import type {
  ContentType,
  Deleted,
  Got,
  Info,
  Order,
  Page,
  Part,
  Point,
  SearchPart,
} from './model.js';
import type { Similarity, Updated, Upserted } from './model.js';

/** A point with all its parts, ready to be encoded. */
export interface FullPoint {
  readonly id: string;
  readonly vector: Float32Array;
  readonly content: string;
  readonly contentType: ContentType;
  /** In JSON; undefined for none. */
  readonly metadata: string | undefined;
}

/** A point as a request holds it. */
export interface EncodedPoint {
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** A new payload; what is undefined stays. */
export interface FullUpdate {
  readonly id: string;
  readonly content: string | undefined;
  readonly contentType: ContentType | undefined;
  /** In JSON; null clears it. */
  readonly metadata: string | null | undefined;
}

/** A query that has been checked. */
export interface FullQuery {
  readonly vector: Float32Array | undefined;
  readonly like: string | undefined;
  readonly similarity: Similarity;
  readonly limit: number;
  readonly ef: number;
  readonly exact: boolean;
  readonly maxDistance: number | undefined;
  readonly filter: CheckedFilter | undefined;
  readonly include: readonly SearchPart[];
}

export interface FullScroll {
  readonly after: string | undefined;
  readonly order: Order;
  readonly filter: CheckedFilter | undefined;
  readonly include: readonly Part[];
}

/**
 * One try of a call: sends its request and reads the answer. Rejects with a VectordError, or with the
 * reason of the signal once that is aborted. It may be called again.
 */
export type Attempt<Answer> = (signal: AbortSignal) => Promise<Answer>;

/** All points, page after page. */
export interface Pages {
  /** The page that comes after the last one, which named it `after`. */
  next(after: string | undefined): Attempt<Page>;
  /** Gives up what is under way. */
  close(): void;
}

/** What speaks to the service in one protocol, without deadlines and repeats. */
export interface Transport {
  encode(point: FullPoint): EncodedPoint;
  upsert(points: readonly EncodedPoint[], ifAbsent: boolean): Attempt<Upserted>;
  get(ids: readonly string[], include: readonly Part[]): Attempt<Got>;
  search(query: FullQuery): Attempt<readonly Point[]>;
  searchAll(queries: readonly FullQuery[]): Attempt<readonly (readonly Point[])[]>;
  scroll(scroll: FullScroll, limit: number): Attempt<Page>;
  pages(scroll: FullScroll): Pages;
  count(filter: CheckedFilter | undefined): Attempt<number>;
  delete(ids: readonly string[]): Attempt<Deleted>;
  deleteMatching(filter: CheckedFilter): Attempt<Deleted>;
  deleteAll(confirm: number): Attempt<Deleted>;
  update(updates: readonly FullUpdate[]): Attempt<Updated>;
  info(): Attempt<Info>;
  close(): void;
}
