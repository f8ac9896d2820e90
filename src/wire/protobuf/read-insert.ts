import { ByteArena } from './byte-arena.js';
import { readItems, type CheckCount } from './read-items.js';
import { readVector } from './read-vector.js';
import { WireReader, WireType, tagOf } from './wire-reader.js';

/** An InsertVectorRequest as it came: what is missing or out of range is the handler's to refuse. */
export interface InsertRequest {
  readonly vector: Float32Array | undefined;
  readonly payload: ReceivedPayload | undefined;
}

export interface ReceivedPayload {
  readonly contentType: number;
  readonly content: string;
}

const VECTOR = tagOf(1, WireType.LengthDelimited);
const PAYLOAD = tagOf(2, WireType.LengthDelimited);
const CONTENT_TYPE = tagOf(1, WireType.Varint);
const CONTENT = tagOf(2, WireType.LengthDelimited);

export function readInsert(bytes: Uint8Array, maxFields?: number): InsertRequest {
  return readInsertFields(new WireReader(bytes, maxFields), new ByteArena(bytes.length));
}

/** The items of an InsertVectorsBatchRequest. */
export function readInsertBatch(
  bytes: Uint8Array,
  checkCount: CheckCount,
  maxFields?: number,
): InsertRequest[] {
  return readItems(bytes, checkCount, readInsertFields, maxFields);
}

function readInsertFields(reader: WireReader, values: ByteArena): InsertRequest {
  const start = values.length;
  let hasVector = false;
  let payload: ReceivedPayload | undefined;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === VECTOR) {
      hasVector = true;
      readVector(reader, values);
    } else if (tag === PAYLOAD) {
      payload = readPayload(reader, payload);
    } else {
      reader.skipField(tag);
    }
  }
  return { vector: hasVector ? values.floatsFrom(start) : undefined, payload };
}

/** The Payload that follows; fields that it leaves out keep what an earlier occurrence gave them. */
function readPayload(reader: WireReader, earlier: ReceivedPayload | undefined): ReceivedPayload {
  let { contentType, content } = earlier ?? { contentType: 0, content: '' };
  const outerEnd = reader.enter();
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === CONTENT_TYPE) contentType = reader.int32();
    else if (tag === CONTENT) content = reader.string();
    else reader.skipField(tag);
  }
  reader.leave(outerEnd);
  return { contentType, content };
}
