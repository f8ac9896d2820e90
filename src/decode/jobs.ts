import { toNewPoint as grpcPoint, toQuery as grpcQuery } from '../grpc/convert.js';
import { readInsertBatch } from '../grpc/codec/read-insert.js';
import { readSearchBatch } from '../grpc/codec/read-search.js';
import { parseJson } from '../http/json-text.js';
import { toNewPoint, toNewPoints, toQueries, toQuery } from '../http/json.js';
import type { NewPoint, Query } from '../model.js';
import { toPointBatch, type PointBatch } from '../point-batch.js';
import { toQueryBatch, type QueryBatch } from '../query-batch.js';
import { checkBatchSize, describePoint, describeQuery, type Rules } from '../rules.js';

/**
 * The requests that can be so large that reading them takes long. What each of these functions
 * answers can go from one thread to another; they throw a VectordError where a request is not what
 * it should be.
 */
export const JOBS = {
  httpPoint(bytes: Uint8Array, { limits }: Rules): NewPoint {
    return toNewPoint(parseJson(bytes, limits));
  },

  httpPoints(bytes: Uint8Array, rules: Rules): PointBatch {
    const points = toNewPoints(parseJson(bytes, rules.limits), rules.limits);
    return toPointBatch(points, rules, describePoint);
  },

  httpQuery(bytes: Uint8Array, { limits }: Rules): Query {
    return toQuery(parseJson(bytes, limits));
  },

  httpQueries(bytes: Uint8Array, rules: Rules): QueryBatch {
    const queries = toQueries(parseJson(bytes, rules.limits), rules.limits);
    return toQueryBatch(queries, rules, describeQuery);
  },

  grpcPoints(bytes: Uint8Array, rules: Rules): PointBatch {
    const items = readInsertBatch(bytes, (count) => checkBatchSize(rules.limits, 'vectors', count));
    const points = items.map((item, index) => grpcPoint(item, describePoint(index)));
    return toPointBatch(points, rules, describePoint);
  },

  grpcQueries(bytes: Uint8Array, rules: Rules): QueryBatch {
    const items = readSearchBatch(bytes, (count) => checkBatchSize(rules.limits, 'queries', count));
    const queries = items.map((item, index) => grpcQuery(item, describeQuery(index)));
    return toQueryBatch(queries, rules, describeQuery);
  },
};

export type JobName = keyof typeof JOBS;
export type Answer<Name extends JobName> = ReturnType<(typeof JOBS)[Name]>;
