import { concatenate, type VectorList } from './concatenate.js';
import { invalid } from './errors.js';
import type { Query, Similarity } from './model.js';
import { POINT_ID_BYTES, type PointIds } from './point-id.js';
import { checkDimension, checkDimensions, type DescribeItem, type Rules } from './rules.js';

/** A query as the engine takes it. */
export interface EngineQuery {
  readonly vector: Float32Array;
  readonly similarity: Similarity;
  readonly limit: number;
  readonly ef: number;
}

/** Several, in the form that the engine takes: one list of each of their parts. */
export interface QueryBatch {
  readonly vectors: Float32Array;
  readonly similarities: Uint8Array;
  readonly limits: Uint32Array;
  readonly efs: Uint32Array;
}

/** Queries as a client sent them, in the same form: not all of them may keep to the rules. */
export interface QueryList extends VectorList {
  readonly similarities: Uint8Array;
  /** Whole numbers of any size. */
  readonly limits: Float64Array;
  /** Whole numbers of any size; 0 is the service's default. */
  readonly efs: Float64Array;
}

/** Throws a VectordError where a query breaks a rule. */
export function toQueryBatch(
  { vectors, vectorEnds, similarities, limits, efs }: QueryList,
  { dimension, defaultEf }: Rules,
  describe: DescribeItem,
): QueryBatch {
  const wrong = limits.findIndex((limit) => limit < 1);
  // Of two faults the first in the list is told.
  const looked = wrong < 0 ? vectorEnds : vectorEnds.subarray(0, wrong + 1);
  checkDimensions(looked, dimension, describe);
  if (wrong >= 0) throw invalid(`${describe(wrong)}limit is 0, expected at least 1`);
  return {
    vectors,
    similarities,
    limits: Uint32Array.from(limits, clampToUint32),
    efs: Uint32Array.from(efs, (ef) => breadth(ef, defaultEf)),
  };
}

/** The lists of queries that came as objects. */
export function listQueries(queries: readonly Query[]): QueryList {
  return {
    ...concatenate(queries),
    similarities: Uint8Array.from(queries, ({ similarity }) => similarity),
    limits: Float64Array.from(queries, ({ limit }) => Number(limit)),
    efs: Float64Array.from(queries, ({ ef }) => Number(ef ?? 0)),
  };
}

/** The ids of each query: those of all queries follow each other, and `counts` has how many each found. */
export function idsOfEach(counts: Uint32Array, ids: PointIds): PointIds[] {
  let end = 0;
  return Array.from(counts, (count) => {
    const start = end;
    end += count * POINT_ID_BYTES;
    return ids.subarray(start, end);
  });
}

/** Throws a VectordError where the query breaks a rule. */
export function toEngineQuery(
  { vector, similarity, limit, ef }: Query,
  { dimension, defaultEf }: Rules,
): EngineQuery {
  checkDimension(vector.length, dimension, '');
  if (limit < 1) throw invalid(`limit is ${limit}, expected at least 1`);
  return {
    vector,
    similarity,
    limit: clampToUint32(Number(limit)),
    ef: breadth(Number(ef ?? 0), defaultEf),
  };
}

/** The breadth of a query that names this one, or none. */
export function breadth(ef: number, defaultEf: number): number {
  return ef === 0 ? defaultEf : clampToUint32(ef);
}

const UINT32_MAX = 0xffff_ffff;

/** More than 2^32 - 1 results or candidates cannot be, so a greater number means "all". */
export function clampToUint32(value: number): number {
  return Math.min(value, UINT32_MAX);
}
