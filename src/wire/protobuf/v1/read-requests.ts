import type { DeleteRequest, GetRequest } from '../../../core/points-service.js';
import { invalid } from '../../../core/errors.js';
import { PAYLOAD } from '../../../core/include.js';
import type { Limits } from '../../../core/limits.js';
import { checkBatchSize } from '../../../core/rules.js';
import { ByteArena } from '../byte-arena.js';
import { countItems } from '../read-items.js';
import { tagOf, WireReader, WireType } from '../wire-reader.js';
import { readNewestFirst } from './enums.js';
import { readInclude } from './include.js';
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
    else if (tag === GET_INCLUDE) include = readInclude(reader, '', include);
    else if (tag === GET_COLLECTION) readCollection(reader);
    else return false;
    return true;
  });
  return { ids: ids.bytes, include: include ?? PAYLOAD };
}

const ALL = tagOf(2, WireType.Varint);
const CONFIRM = tagOf(3, WireType.Varint);
const DELETE_COLLECTION = tagOf(4, WireType.LengthDelimited);

/** Reads a DeleteRequest. */
export function readDelete(bytes: Uint8Array, limits: Limits, maxFields?: number): DeleteRequest {
  const reader = new WireReader(bytes, maxFields);
  const ids = idsArena(bytes, limits, maxFields);
  let isAll = false;
  let confirm: number | undefined;
  readFields(reader, 'the request', (tag) => {
    if (tag === IDS) readIdItem(reader, ids);
    else if (tag === ALL) isAll = readBool(reader);
    else if (tag === CONFIRM) confirm = Number(reader.uint64());
    else if (tag === DELETE_COLLECTION) readCollection(reader);
    else return false;
    return true;
  });
  const either = 'either ids, or all with confirm: the number of points';
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
  /** In bits. */
  readonly include: number;
}

const SCROLL_LIMIT = tagOf(1, WireType.Varint);

/** Reads a ScrollRequest. */
export function readScroll(bytes: Uint8Array): ScrollMessage {
  return readScrollFields(bytes, SCROLL_LIMIT, 2);
}

/** Reads a ScrollStreamRequest, whose fields are those of a ScrollRequest but the limit. */
export function readScrollStream(bytes: Uint8Array): ScrollMessage {
  return readScrollFields(bytes, undefined, 1);
}

/** Reads fields whose numbers from `first` on are after, order, include and collection. */
function readScrollFields(
  bytes: Uint8Array,
  limitTag: number | undefined,
  first: number,
): ScrollMessage {
  const reader = new WireReader(bytes);
  const orderTag = tagOf(first + 1, WireType.Varint);
  const [afterTag, includeTag, collectionTag] = [0, 2, 3].map((more) =>
    tagOf(first + more, WireType.LengthDelimited),
  );
  let limit = 0;
  let after = '';
  let newestFirst = false;
  let include: number | undefined;
  readFields(reader, 'the request', (tag) => {
    if (tag === limitTag) limit = Number(reader.uint64());
    else if (tag === afterTag) after = reader.string();
    else if (tag === orderTag) newestFirst = readNewestFirst(reader);
    else if (tag === includeTag) include = readInclude(reader, '', include);
    else if (tag === collectionTag) readCollection(reader);
    else return false;
    return true;
  });
  return {
    limit,
    after: after === '' ? undefined : after,
    newestFirst,
    include: include ?? PAYLOAD,
  };
}

const COUNT_COLLECTION = tagOf(1, WireType.LengthDelimited);

/** Checks a CountRequest. */
export function readCount(bytes: Uint8Array): object {
  const reader = new WireReader(bytes);
  readFields(reader, 'the request', (tag) => {
    if (tag !== COUNT_COLLECTION) return false;
    readCollection(reader);
    return true;
  });
  return {};
}

/** Checks an InfoRequest. */
export function readInfo(bytes: Uint8Array): object {
  readFields(new WireReader(bytes), 'the request', () => false);
  return {};
}

/** Memory for the ids of a message, which are in its first field. */
function idsArena(bytes: Uint8Array, limits: Limits, maxFields?: number): ByteArena {
  checkBatchSize(limits, 'ids', countItems(bytes, maxFields));
  return new ByteArena(bytes.length);
}
