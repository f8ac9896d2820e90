import { invalid } from './errors.js';
import { isNilAt, POINT_ID_BYTES, type PointIds } from './point-id.js';
import { clampToUint32, type QueryBatch, type QueryList } from './query-batch.js';
import type { Filters, NeighbourQueries } from './records.js';
import { adviseOnDimension, checkDimension, type DescribeItem, type Rules } from './rules.js';

/** Queries for neighbours that a client asks. */
export interface SearchRequest extends NeighbourQueries {
  /** What each query is answered besides ids, in bits. */
  readonly includes: Uint8Array;
}

/** Queries for neighbours as a client sent them: not all of them may keep to the rules. */
export interface SearchList extends QueryList {
  readonly filters: Filters;
  /** The greatest distance of a result of each; infinite for any. */
  readonly maxDistances: Float64Array;
  /**
   * The point whose neighbours each query wants; zeros for one with a vector. The vectors are those
   * of the other queries.
   */
  readonly likes: PointIds;
}

/**
 * Throws a VectordError where a query breaks a rule: of two faults the first in the list is told.
 * The ef of a query that names none stays 0.
 */
export function toNeighbourQueries(
  { vectors, vectorEnds, similarities, limits, efs, maxDistances, likes, filters }: SearchList,
  { dimension }: Rules,
  describe: DescribeItem,
): NeighbourQueries {
  for (const [index, limit] of limits.entries()) {
    const length = (vectorEnds[index] ?? 0) - (vectorEnds[index - 1] ?? 0);
    if (isNilAt(likes, index)) {
      checkDimension(length, dimension, describe(index), adviseOnDimension);
    }
    if (limit < 1) throw invalid(`${describe(index)}limit is 0, expected at least 1`);
  }
  return {
    vectors,
    similarities,
    limits: Uint32Array.from(limits, clampToUint32),
    efs: Uint32Array.from(efs, clampToUint32),
    maxDistances,
    likes,
    filters,
  };
}

/**
 * The breadth of a search of `/v1` that names this ef, or none. A walk that keeps no more candidates
 * than it returns misses some of the farthest neighbours, so the default grows with the limit.
 */
export function searchBreadth(ef: number, limit: number, defaultEf: number): number {
  return ef === 0 ? Math.max(defaultEf, clampToUint32(2 * limit)) : ef;
}

/** Plain queries in the form of those for neighbours: without filters and greatest distances. */
export function asNeighbourQueries(batch: QueryBatch): NeighbourQueries {
  const { length } = batch.limits;
  return {
    ...batch,
    maxDistances: new Float64Array(length).fill(Infinity),
    likes: new Uint8Array(length * POINT_ID_BYTES),
    filters: { texts: new Uint8Array(), ends: new Uint32Array(length) },
  };
}
