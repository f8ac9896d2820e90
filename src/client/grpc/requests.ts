import { BinaryWriter } from '@bufbuild/protobuf/wire';
import {
  CountRequest,
  DeleteRequest,
  Filter,
  GetRequest,
  Include,
  ScrollRequest,
  ScrollStreamRequest,
  UpdateRequest,
} from '../../gen/vectord/v1/points.js';
import { bytesOf } from '../float-bytes.js';
import type { CheckedFilter } from '../filter.js';
import type { SearchPart } from '../model.js';
import type { EncodedPoint, FullPoint, FullQuery, FullScroll, FullUpdate } from '../transport.js';
import { wireFilter } from './filters.js';
import { CONTENT_TYPES, ORDERS, SIMILARITIES } from './enums.js';

/*
 * Requests in bytes. Those with vectors are written here, floats as they lie in memory: the generated
 * code takes arrays of numbers. Tags are fields of points.proto, shifted, with their wire types.
 */
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;

const collection = '';

/** A point as one NewPoint. */
export function encodePoint({
  id,
  vector,
  content,
  contentType,
  metadata = '',
}: FullPoint): EncodedPoint {
  const writer = new BinaryWriter().tag(1, BYTES).string(id);
  writer.tag(2, BYTES).bytes(bytesOf(vector));
  if (content !== '') writer.tag(3, BYTES).string(content);
  writer.tag(4, VARINT).int32(CONTENT_TYPES[contentType]);
  if (metadata !== '') writer.tag(5, BYTES).string(metadata);
  return { id, bytes: writer.finish() };
}

export function upsertRequest(points: readonly EncodedPoint[], ifAbsent: boolean): Uint8Array {
  const writer = new BinaryWriter();
  for (const { bytes } of points) writer.tag(1, BYTES).bytes(bytes);
  if (ifAbsent) writer.tag(2, VARINT).bool(true);
  return writer.finish();
}

export function getRequest(ids: readonly string[], include: readonly SearchPart[]): Uint8Array {
  return GetRequest.encode({ ids: [...ids], include: wireInclude(include), collection }).finish();
}

export function searchRequest(queries: readonly FullQuery[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const query of queries) {
    writer.tag(1, BYTES).fork();
    writeQuery(writer, query);
    writer.join();
  }
  return writer.finish();
}

function writeQuery(writer: BinaryWriter, query: FullQuery): void {
  const { vector, like, similarity, limit, ef, exact, maxDistance, filter, include } = query;
  if (vector !== undefined) writer.tag(1, BYTES).bytes(bytesOf(vector));
  if (like !== undefined) writer.tag(2, BYTES).string(like);
  writer.tag(3, VARINT).int32(SIMILARITIES[similarity]);
  writer.tag(4, VARINT).uint64(limit);
  if (ef > 0) writer.tag(5, VARINT).uint64(ef);
  if (exact) writer.tag(6, VARINT).bool(true);
  if (maxDistance !== undefined) writer.tag(7, FIXED64).double(maxDistance);
  writer.tag(8, BYTES).bytes(Include.encode(wireInclude(include)).finish());
  if (filter !== undefined) {
    writer.tag(9, BYTES).bytes(Filter.encode(wireFilter(filter.full)).finish());
  }
}

export function scrollRequest(scroll: FullScroll, limit: number): Uint8Array {
  return ScrollRequest.encode({ ...wireScroll(scroll), limit: BigInt(limit) }).finish();
}

export function scrollStreamRequest(scroll: FullScroll): Uint8Array {
  return ScrollStreamRequest.encode(wireScroll(scroll)).finish();
}

export function deleteRequest(ids: readonly string[]): Uint8Array {
  return DeleteRequest.encode({ ids: [...ids], all: false, collection }).finish();
}

export function deleteMatchingRequest({ full }: CheckedFilter): Uint8Array {
  const filter = wireFilter(full);
  return DeleteRequest.encode({ ids: [], all: false, filter, collection }).finish();
}

export function deleteAllRequest(count: number): Uint8Array {
  const confirm = BigInt(count);
  return DeleteRequest.encode({ ids: [], all: true, confirm, collection }).finish();
}

export function updateRequest(updates: readonly FullUpdate[]): Uint8Array {
  const points = updates.map(({ id, content, contentType, metadata }) => ({
    id,
    content,
    contentType: contentType === undefined ? undefined : CONTENT_TYPES[contentType],
    metadata: metadata === null ? '' : metadata,
  }));
  return UpdateRequest.encode({ points, collection }).finish();
}

export function countRequest(filter: CheckedFilter | undefined): Uint8Array {
  return CountRequest.encode({ filter: filter && wireFilter(filter.full), collection }).finish();
}

function wireScroll({ after = '', order, filter, include }: FullScroll) {
  return {
    after,
    order: ORDERS[order],
    filter: filter && wireFilter(filter.full),
    include: wireInclude(include),
    collection,
  };
}

function wireInclude(include: readonly SearchPart[]): Include {
  return {
    distance: include.includes('distance'),
    vector: include.includes('vector'),
    content: include.includes('content'),
    contentType: include.includes('contentType'),
    metadata: include.includes('metadata'),
  };
}
