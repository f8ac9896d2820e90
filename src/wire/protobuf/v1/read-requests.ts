import type { CountRequest, DeleteRequest, GetRequest } from '../../../core/points-service.js';
import { invalid } from '../../../core/errors.js';
import { PAYLOAD } from '../../../core/include.js';
import type { Limits } from '../../../core/limits.js';
import { checkBatchSize } from '../../../core/rules.js';
import * as native from '../../../engine/json.js';
import { accepted } from '../../json/json.js';
import { ByteArena } from '../byte-arena.js';
import { countItems } from '../read-items.js';
import { tagOf, WireReader, WireType } from '../wire-reader.js';
import { readNewestFirst } from './enums.js';
import { readIncludeOfPoints } from './include.js';
import { readFilter } from './read-filter.js';
import { readIdItem } from './read-ids.js';
import { readBool, readCollection, readFields } from './strict.js';

/*
 * Requests without vectors and payloads.
 */

const IDS = tagOf(1, WireType.LengthDelimited);

const GET_INCLUDE = tagOf(2, WireType.LengthDelimited);
const GET_COLLECTION = tagOf(3, WireType.LengthDelimited);

/** Reads a GetRequest. */
export function readGet(bytes: Uint8Array, limits: Limits, maxFields?: number): GetRequest {
  const reader = new WireReader(bytes, maxFields);
  const ids = idsArena(bytes, limits, maxFields);
  let include: number | undefined;
  readFields(reader, 'the request', (tag) => {
    if (tag === IDS) readIdItem(reader, ids);
    else if (tag === GET_INCLUDE) include = readIncludeOfPoints(reader, include);
    else if (tag === GET_COLLECTION) readCollection(reader);
    else return false;
    return true;
  });
  return { ids: ids.bytes, include: include ?? PAYLOAD };
}

const ALL = tagOf(2, WireType.Varint);
const CONFIRM = tagOf(3, WireType.Varint);
const DELETE_COLLECTION = tagOf(4, WireType.LengthDelimited);
const DELETE_FILTER = tagOf(5, WireType.LengthDelimited);

/** Reads a DeleteRequest. */
export function readDelete(bytes: Uint8Array, limits: Limits, maxFields?: number): DeleteRequest {
  const reader = new WireReader(bytes, maxFields);
  const ids = idsArena(bytes, limits, maxFields);
  let isAll = false;
  let confirm: number | undefined;
  let filter: string | undefined;
  readFields(reader, 'the request', (tag) => {
    if (tag === IDS) readIdItem(reader, ids);
    else if (tag === ALL) isAll = readBool(reader);
    else if (tag === CONFIRM) confirm = Number(reader.uint64());
    else if (tag === DELETE_COLLECTION) readCollection(reader);
    else if (tag === DELETE_FILTER) filter = readFilter(reader, 'filter', filter);
    else return false;
    return true;
  });
  const either = 'either ids, a filter, or all with confirm: the number of points';
  if (filter !== undefined) {
    if (isAll || ids.length > 0)
      throw invalid(`filter is given besides others, expected ${either}`);
    return { ids: ids.bytes, filter: checkedFilter(filter, limits, { deletes: true }) };
  }
  if (!isAll && confirm !== undefined) throw invalid(`confirm is given, expected ${either}`);
  if (!isAll) return { ids: ids.bytes };
  if (ids.length > 0) throw invalid(`ids are given besides all, expected ${either}`);
  if (confirm === undefined) throw invalid(`confirm is missing, expected the number of points`);
  return { ids: ids.bytes, confirm };
}

/** A page that is asked for, as a message says it. */
export interface ScrollMessage {
  /** 0 where the message has none. */
  readonly limit: number;
  readonly after: string | undefined;
  readonly newestFirst: boolean;
  /** The text of the filter that the points have to pass. */
  readonly filter: string | undefined;
  /** In bits. */
  readonly include: number;
}

const SCROLL_LIMIT = tagOf(1, WireType.Varint);

/** Reads a ScrollRequest. */
export function readScroll(bytes: Uint8Array, limits: Limits, maxFields?: number): ScrollMessage {
  return readScrollFields(new WireReader(bytes, maxFields), limits, SCROLL_LIMIT, 2);
}

/** Reads a ScrollStreamRequest, whose fields are those of a ScrollRequest but the limit. */
export function readScrollStream(
  bytes: Uint8Array,
  limits: Limits,
  maxFields?: number,
): ScrollMessage {
  return readScrollFields(new WireReader(bytes, maxFields), limits, undefined, 1);
}

/** Reads fields whose numbers from `first` on are after, order, include, collection and filter. */
function readScrollFields(
  reader: WireReader,
  limits: Limits,
  limitTag: number | undefined,
  first: number,
): ScrollMessage {
  const orderTag = tagOf(first + 1, WireType.Varint);
  const [afterTag, includeTag, collectionTag, filterTag] = [0, 2, 3, 4].map((more) =>
    tagOf(first + more, WireType.LengthDelimited),
  );
  let limit = 0;
  let after = '';
  let newestFirst = false;
  let include: number | undefined;
  let filter: string | undefined;
  readFields(reader, 'the request', (tag) => {
    if (tag === limitTag) limit = Number(reader.uint64());
    else if (tag === afterTag) after = reader.string();
    else if (tag === orderTag) newestFirst = readNewestFirst(reader);
    else if (tag === includeTag) include = readIncludeOfPoints(reader, include);
    else if (tag === collectionTag) readCollection(reader);
    else if (tag === filterTag) filter = readFilter(reader, 'filter', filter);
    else return false;
    return true;
  });
  return {
    limit,
    after: after === '' ? undefined : after,
    newestFirst,
    filter: filter === undefined ? undefined : checkedFilter(filter, limits),
    include: include ?? PAYLOAD,
  };
}

const COUNT_COLLECTION = tagOf(1, WireType.LengthDelimited);

const COUNT_FILTER = tagOf(2, WireType.LengthDelimited);

/** Reads a CountRequest. */
export function readCount(bytes: Uint8Array, limits: Limits, maxFields?: number): CountRequest {
  const reader = new WireReader(bytes, maxFields);
  let filter: string | undefined;
  readFields(reader, 'the request', (tag) => {
    if (tag === COUNT_COLLECTION) readCollection(reader);
    else if (tag === COUNT_FILTER) filter = readFilter(reader, 'filter', filter);
    else return false;
    return true;
  });
  return { filter: filter === undefined ? undefined : checkedFilter(filter, limits) };
}

/** Checks an InfoRequest. */
export function readInfo(bytes: Uint8Array): object {
  readFields(new WireReader(bytes), 'the request', () => false);
  return {};
}

/** The text of a filter that keeps to the rules. */
function checkedFilter(filter: string, limits: Limits, use = { deletes: false }): string {
  accepted(native.checkFilter(filter, use), limits);
  return filter;
}

/** Memory for the ids of a message, which are in its first field. */
function idsArena(bytes: Uint8Array, limits: Limits, maxFields?: number): ByteArena {
  checkBatchSize(limits, 'ids', countItems(bytes, maxFields));
  return new ByteArena(bytes.length);
}
