import { ByteArena } from './byte-arena.js';
import { readItems, type CheckCount } from './read-items.js';
import { readVector } from './read-vector.js';
import { WireReader, WireType, tagOf } from './wire-reader.js';

/** A SearchRequest as it came: what is missing or out of range is the handler's to refuse. */
export interface SearchRequest {
  readonly vector: Float32Array | undefined;
  readonly similarity: number;
  readonly limit: bigint;
  readonly ef: bigint;
}

const QUERY_VECTOR = tagOf(1, WireType.LengthDelimited);
const SIMILARITY = tagOf(2, WireType.Varint);
const LIMIT = tagOf(3, WireType.Varint);
const EF = tagOf(4, WireType.Varint);

export function readSearch(bytes: Uint8Array, maxFields?: number): SearchRequest {
  return readSearchFields(new WireReader(bytes, maxFields), new ByteArena(bytes.length));
}

/** The items of a SearchPointsBatchRequest. */
export function readSearchBatch(
  bytes: Uint8Array,
  checkCount: CheckCount,
  maxFields?: number,
): SearchRequest[] {
  return readItems(bytes, checkCount, readSearchFields, maxFields);
}

function readSearchFields(reader: WireReader, values: ByteArena): SearchRequest {
  const start = values.length;
  let hasVector = false;
  let similarity = 0;
  let limit = 0n;
  let ef = 0n;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === QUERY_VECTOR) {
      hasVector = true;
      readVector(reader, values);
    } else if (tag === SIMILARITY) similarity = reader.int32();
    else if (tag === LIMIT) limit = reader.uint64();
    else if (tag === EF) ef = reader.uint64();
    else reader.skipField(tag);
  }
  return { vector: hasVector ? values.floatsFrom(start) : undefined, similarity, limit, ef };
}
