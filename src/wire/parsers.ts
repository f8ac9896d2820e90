import { toNewPoint as grpcPoint, toQuery as grpcQuery } from './protobuf/convert.js';
import { readInsert, readInsertBatch } from './protobuf/read-insert.js';
import { readSearch, readSearchBatch } from './protobuf/read-search.js';
import { parseJson } from './json/json-text.js';
import { toNewPoint, toNewPoints, toQueries, toQuery } from './json/json.js';
import type { NewPoint, Query } from '../core/model.js';
import { toPointBatch, type PointBatch } from '../core/point-batch.js';
import { toQueryBatch, type QueryBatch } from '../core/query-batch.js';
import { checkBatchSize, describePoint, describeQuery, type Rules } from '../core/rules.js';
import type { Effort } from './parse-budget.js';

/**
 * The requests that can take long to be read. What each of these functions answers can go from one
 * thread to another; they throw a VectordError where a request is not what it should be, and a
 * TooMuchEffort where it takes more to be read than it may.
 */
export const JOBS = {
  httpPoint(bytes: Uint8Array, { limits }: Rules, { parts }: Effort): NewPoint {
    return toNewPoint(parseJson(bytes, limits, parts));
  },

  httpPoints(bytes: Uint8Array, rules: Rules, { parts }: Effort): PointBatch {
    const points = toNewPoints(parseJson(bytes, rules.limits, parts), rules.limits);
    return toPointBatch(points, rules, describePoint);
  },

  httpQuery(bytes: Uint8Array, { limits }: Rules, { parts }: Effort): Query {
    return toQuery(parseJson(bytes, limits, parts));
  },

  httpQueries(bytes: Uint8Array, rules: Rules, { parts }: Effort): QueryBatch {
    const queries = toQueries(parseJson(bytes, rules.limits, parts), rules.limits);
    return toQueryBatch(queries, rules, describeQuery);
  },

  grpcPoint(bytes: Uint8Array, _rules: Rules, { fields }: Effort): NewPoint {
    return grpcPoint(readInsert(bytes, fields), '');
  },

  grpcPoints(bytes: Uint8Array, rules: Rules, { fields }: Effort): PointBatch {
    const check = (count: number): void => checkBatchSize(rules.limits, 'vectors', count);
    const items = readInsertBatch(bytes, check, fields);
    const points = items.map((item, index) => grpcPoint(item, describePoint(index)));
    return toPointBatch(points, rules, describePoint);
  },

  grpcQuery(bytes: Uint8Array, _rules: Rules, { fields }: Effort): Query {
    return grpcQuery(readSearch(bytes, fields), '');
  },

  grpcQueries(bytes: Uint8Array, rules: Rules, { fields }: Effort): QueryBatch {
    const check = (count: number): void => checkBatchSize(rules.limits, 'queries', count);
    const items = readSearchBatch(bytes, check, fields);
    const queries = items.map((item, index) => grpcQuery(item, describeQuery(index)));
    return toQueryBatch(queries, rules, describeQuery);
  },
};

export type JobName = keyof typeof JOBS;
export type Answer<Name extends JobName> = ReturnType<(typeof JOBS)[Name]>;
