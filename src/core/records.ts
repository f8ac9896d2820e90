import type { PageToken } from './page-token.js';
import type { PointBatch } from './point-batch.js';
import type { PointId, PointIds } from './point-id.js';
import type { EngineQuery, QueryBatch } from './query-batch.js';

/** The parts of points that an answer holds besides ids. */
export interface Include {
  readonly vector: boolean;
  readonly contentType: boolean;
  readonly content: boolean;
  readonly metadata: boolean;
}

/**
 * Points, each of their parts in an array of its own, one point after the other. Arrays of parts
 * that were not asked for are empty.
 */
export interface Records {
  readonly ids: PointIds;
  /** Bit for bit as they were stored. */
  readonly vectors: Float32Array;
  readonly contentTypes: Uint8Array;
  /** The contents in UTF-8. */
  readonly contents: Uint8Array;
  /** Where each content ends within `contents`. */
  readonly contentEnds: Uint32Array;
  /** The metadata in JSON; nothing for a point that has none. */
  readonly metadata: Uint8Array;
  /** Where the metadata of each point end within `metadata`. */
  readonly metadataEnds: Uint32Array;
}

/** As many bytes as there are. */
export const ANY_BYTES = Number.MAX_SAFE_INTEGER;

/** The bytes that arrays take, which are the fields of an object. */
export function bytesOf(arrays: object): number {
  return Object.values(arrays).reduce<number>(
    (sum, part: unknown) => sum + (ArrayBuffer.isView(part) ? part.byteLength : 0),
    0,
  );
}

/** Points that were asked for by their ids. */
export interface Gathered {
  /** Those that are there, in the order of the ids. */
  readonly records: Records;
  /** For each id 1 if there is such a point, else 0. */
  readonly found: Uint8Array;
}

/** A part of all points that is asked for. */
export interface PageRequest {
  /** What `Page.next` named; absent for the first page. */
  readonly after?: PageToken | undefined;
  /** The greatest number of points, at least 1. */
  readonly limit: number;
  /** Whether the points that were written last come first. */
  readonly newestFirst: boolean;
  /** The text of the filter that the points have to pass; it has been checked. */
  readonly filter?: string | undefined;
  readonly include: Include;
  /** The page ends before what is included takes more, but has a point if there is one. */
  readonly maxBytes: number;
}

export interface Page {
  readonly records: Records;
  /** Names the next page; absent if this is the last one. */
  readonly next?: PageToken | undefined;
}

/** A query that is answered with distances and records. */
export interface NeighbourQuery extends EngineQuery {
  /** The greatest distance of a neighbour, in the unit of the similarity; Infinity for any. */
  readonly maxDistance: number;
  /** The point whose neighbours are wanted, except for itself, in place of those of a vector. */
  readonly like?: PointId | undefined;
  /** The text of a filter in UTF-8, which has been checked; nothing for none. */
  readonly filter: Uint8Array;
}

/** Filters of queries, one behind the other, which have been checked. */
export interface Filters {
  /** Their texts in UTF-8; nothing for a query without one. */
  readonly texts: Uint8Array;
  /** Where each ends within `texts`. */
  readonly ends: Uint32Array;
}

/** Several of them. */
export interface NeighbourQueries extends QueryBatch {
  readonly maxDistances: Float64Array;
  readonly filters: Filters;
  /** One for each query, of zeros for one that has a vector; the vectors are those of the others. */
  readonly likes: PointIds;
}

/** The neighbours of all queries, those of one after those of the other, closest first. */
export interface Found {
  /** How many neighbours each query has. */
  readonly counts: Uint32Array;
  /** In the unit of the similarity: L2, L1, differing positions, or 1 - cos. */
  readonly distances: Float64Array;
  readonly records: Records;
}

/** Points that are to be stored under ids that may exist. */
export interface UpsertBatch extends PointBatch, Pick<Records, 'metadata' | 'metadataEnds'> {
  /** Whether the service has drawn all ids: nobody knows them yet, and others are as good. */
  readonly areIdsDrawn?: boolean;
}

/** What became of the points of an upsert: the three numbers add up to all of them. */
export interface Upserted {
  readonly stored: number;
  readonly replaced: number;
  /** Of those that were not stored, since there was a point with their id. */
  readonly kept: number;
}

/** The parts of its payload that an update gives a point; those of several are added up. */
export const Given = { ContentType: 1, Content: 2, Metadata: 4 } as const;

/** New payloads of points: what is not given stays as it is. */
export interface UpdateBatch extends Omit<Records, 'vectors'> {
  /** What is given of each point, see `Given`. */
  readonly given: Uint8Array;
}
