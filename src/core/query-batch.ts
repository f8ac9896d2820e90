import { concatenate } from './concatenate.js';
import { invalid } from './errors.js';
import type { Query, Similarity } from './model.js';
import { checkDimension, type DescribeItem, type Rules } from './rules.js';

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

/** Throws a VectordError where a query breaks a rule. */
export function toQueryBatch(
  queries: readonly Query[],
  rules: Rules,
  describe: DescribeItem,
): QueryBatch {
  const prepared = queries.map((query, index) => toEngineQuery(query, rules, describe(index)));
  return inLists(prepared, rules.dimension);
}

export function inLists(queries: readonly EngineQuery[], dimension: number): QueryBatch {
  return {
    vectors: concatenate(queries, dimension),
    similarities: Uint8Array.from(queries, ({ similarity }) => similarity),
    limits: Uint32Array.from(queries, ({ limit }) => limit),
    efs: Uint32Array.from(queries, ({ ef }) => ef),
  };
}

/** Throws a VectordError where the query breaks a rule. */
export function toEngineQuery(
  query: Query,
  { dimension, defaultEf }: Rules,
  where: string,
): EngineQuery {
  checkDimension(query.vector, dimension, where);
  if (query.limit < 1) throw invalid(`${where}limit is ${query.limit}, expected at least 1`);
  const ef = clampToUint32(query.ef ?? 0);
  return {
    vector: query.vector,
    similarity: query.similarity,
    limit: clampToUint32(query.limit),
    ef: ef === 0 ? defaultEf : ef,
  };
}

const UINT32_MAX = 0xffff_ffff;

/** More than 2^32 - 1 results or candidates cannot be, so a greater number means "all". */
function clampToUint32(value: number | bigint): number {
  return value > UINT32_MAX ? UINT32_MAX : Number(value);
}
