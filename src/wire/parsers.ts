import { toNewPoint, toQuery } from './protobuf/convert.js';
import { readInsert, readInsertBatch } from './protobuf/read-insert.js';
import * as requests from './protobuf/v1/read-requests.js';
import { readSearch as readSearchMessage } from './protobuf/v1/read-search.js';
import { readUpdate as readUpdateMessage } from './protobuf/v1/read-update.js';
import { readUpsert as readUpsertMessage } from './protobuf/v1/read-upsert.js';
import { readSearch, readSearchBatch } from './protobuf/read-search.js';
import { readPoint, readPoints, readQueries, readQuery } from './json/json.js';
import * as v1 from './json/points.js';
import type { Query } from '../core/model.js';
import { listPoints, toPointBatch, type PointBatch } from '../core/point-batch.js';
import type { CountRequest, DeleteRequest, GetRequest } from '../core/points-service.js';
import type { UpdateBatch } from '../core/records.js';
import type { SearchRequest } from '../core/searches.js';
import type { UpsertRequest } from '../core/upserts.js';
import { listQueries, toQueryBatch, type QueryBatch } from '../core/query-batch.js';
import {
  checkBatchSize,
  describePoint,
  describeQuery,
  describeSingle,
  type Rules,
} from '../core/rules.js';

/**
 * The requests that can take long to be read. What each of these functions answers can go from one
 * thread to another; they throw a VectordError where a request is not what it should be, and a
 * TooManyFields where a message has more of them than are to be read.
 */
export const PARSERS = {
  httpPoint(bytes: Uint8Array, rules: Rules): PointBatch {
    return toPointBatch(readPoint(bytes, rules.limits), rules, describeSingle);
  },

  httpPoints(bytes: Uint8Array, rules: Rules): PointBatch {
    return toPointBatch(readPoints(bytes, rules.limits), rules, describePoint);
  },

  httpQuery(bytes: Uint8Array, { limits }: Rules): Query {
    return readQuery(bytes, limits);
  },

  httpQueries(bytes: Uint8Array, rules: Rules): QueryBatch {
    return toQueryBatch(readQueries(bytes, rules.limits), rules, describeQuery);
  },

  httpUpsert(bytes: Uint8Array, rules: Rules): UpsertRequest {
    return v1.readUpsert(bytes, rules);
  },

  httpUpdate(bytes: Uint8Array, rules: Rules): UpdateBatch {
    return v1.readUpdate(bytes, rules);
  },

  httpSearch(bytes: Uint8Array, rules: Rules): v1.SearchBody {
    return v1.readSearch(bytes, rules);
  },

  httpGet(bytes: Uint8Array, { limits }: Rules): v1.GetBody {
    return v1.readGet(bytes, limits);
  },

  httpDelete(bytes: Uint8Array, { limits }: Rules): DeleteRequest {
    return v1.readDelete(bytes, limits);
  },

  httpScroll(bytes: Uint8Array, { limits }: Rules): v1.ScrollBody {
    return v1.readScroll(bytes, limits);
  },

  httpCount(bytes: Uint8Array, { limits }: Rules): CountRequest {
    return v1.readCount(bytes, limits);
  },

  grpcPoint(bytes: Uint8Array, rules: Rules, maxFields: number): PointBatch {
    const points = [toNewPoint(readInsert(bytes, maxFields), '')];
    return toPointBatch(listPoints(points, rules.limits.maxContentBytes), rules, describeSingle);
  },

  grpcPoints(bytes: Uint8Array, rules: Rules, maxFields: number): PointBatch {
    const check = (count: number): void => checkBatchSize(rules.limits, 'vectors', count);
    const items = readInsertBatch(bytes, check, maxFields);
    const points = items.map((item, index) => toNewPoint(item, describePoint(index)));
    return toPointBatch(listPoints(points, rules.limits.maxContentBytes), rules, describePoint);
  },

  grpcQuery(bytes: Uint8Array, _rules: Rules, maxFields: number): Query {
    return toQuery(readSearch(bytes, maxFields), '');
  },

  grpcQueries(bytes: Uint8Array, rules: Rules, maxFields: number): QueryBatch {
    const check = (count: number): void => checkBatchSize(rules.limits, 'queries', count);
    const items = readSearchBatch(bytes, check, maxFields);
    const queries = items.map((item, index) => toQuery(item, describeQuery(index)));
    return toQueryBatch(listQueries(queries), rules, describeQuery);
  },

  grpcUpsert(bytes: Uint8Array, rules: Rules, maxFields: number): UpsertRequest {
    return readUpsertMessage(bytes, rules, maxFields);
  },

  grpcUpdate(bytes: Uint8Array, rules: Rules, maxFields: number): UpdateBatch {
    return readUpdateMessage(bytes, rules, maxFields);
  },

  grpcSearch(bytes: Uint8Array, rules: Rules, maxFields: number): SearchRequest {
    return readSearchMessage(bytes, rules, maxFields);
  },

  grpcGet(bytes: Uint8Array, { limits }: Rules, maxFields: number): GetRequest {
    return requests.readGet(bytes, limits, maxFields);
  },

  grpcDelete(bytes: Uint8Array, { limits }: Rules, maxFields: number): DeleteRequest {
    return requests.readDelete(bytes, limits, maxFields);
  },

  grpcScroll(bytes: Uint8Array, { limits }: Rules, maxFields: number): requests.ScrollMessage {
    return requests.readScroll(bytes, limits, maxFields);
  },

  grpcScrollStream(
    bytes: Uint8Array,
    { limits }: Rules,
    maxFields: number,
  ): requests.ScrollMessage {
    return requests.readScrollStream(bytes, limits, maxFields);
  },

  grpcCount(bytes: Uint8Array, { limits }: Rules, maxFields: number): CountRequest {
    return requests.readCount(bytes, limits, maxFields);
  },

  grpcInfo(bytes: Uint8Array): object {
    return requests.readInfo(bytes);
  },
};

export type ParserName = keyof typeof PARSERS;
export type Answer<Name extends ParserName> = ReturnType<(typeof PARSERS)[Name]>;
