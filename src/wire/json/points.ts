import type { Limits } from '../../core/limits.js';
import type { CountRequest, DeleteRequest, GetRequest } from '../../core/points-service.js';
import type { UpdateBatch } from '../../core/records.js';
import { describeQuery, describeSingle, type Rules } from '../../core/rules.js';
import { toNeighbourQueries, type SearchRequest } from '../../core/searches.js';
import { toUpdateBatch, toUpsertBatch, type UpsertRequest } from '../../core/upserts.js';
import * as native from '../../engine/json.js';
import { accepted } from './json.js';

/*
 * What the bodies of `/v1` hold, each in a form that can go from one thread to another.
 */

/** How an answer is written. */
export interface AnswerForm {
  /** Whether vectors are base64 of their floats, not arrays of numbers. */
  readonly base64: boolean;
}

export interface SearchBody extends SearchRequest, AnswerForm {
  /** Whether the answer is a list of lists. */
  readonly isList: boolean;
}

export interface GetBody extends GetRequest, AnswerForm {}

export interface ScrollBody extends AnswerForm {
  readonly limit: number;
  readonly after?: string | undefined;
  readonly newestFirst: boolean;
  readonly filter?: string | undefined;
  /** In bits. */
  readonly include: number;
}

export function readUpsert(body: Uint8Array, rules: Rules): UpsertRequest {
  const read = accepted(native.readUpserts(body, rules.limits), rules.limits);
  return { ...toUpsertBatch(read, rules), keeps: read.ifAbsent };
}

export function readUpdate(body: Uint8Array, rules: Rules): UpdateBatch {
  return toUpdateBatch(accepted(native.readUpdates(body, rules.limits), rules.limits), rules);
}

export function readSearch(body: Uint8Array, rules: Rules): SearchBody {
  const read = accepted(native.readSearches(body, rules.limits), rules.limits);
  const { includes, isList, base64 } = read;
  const list = { ...read, filters: { texts: read.filters, ends: read.filterEnds } };
  const describe = isList ? describeQuery : describeSingle;
  return { ...toNeighbourQueries(list, rules, describe), includes, isList, base64 };
}

export function readGet(body: Uint8Array, limits: Limits): GetBody {
  return accepted(native.readGets(body, limits), limits);
}

export function readDelete(body: Uint8Array, limits: Limits): DeleteRequest {
  return accepted(native.readDeletes(body, limits), limits);
}

export function readScroll(body: Uint8Array, limits: Limits): ScrollBody {
  return accepted(native.readScroll(body), limits);
}

/** Reads a body that counts points: all of them where it has no bytes. */
export function readCount(body: Uint8Array, limits: Limits): CountRequest {
  return body.length === 0 ? {} : accepted(native.readCounts(body), limits);
}
