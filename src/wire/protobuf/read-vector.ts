import { invalid } from '../../core/errors.js';
import type { ByteArena } from './byte-arena.js';
import { WireType, tagOf, type WireReader } from './wire-reader.js';

const PACKED_VALUES = tagOf(1, WireType.LengthDelimited);
const SINGLE_VALUE = tagOf(1, WireType.Fixed32);
const FLOAT_BYTES = 4;

/** Appends the values of the DenseVector that follows. */
export function readVector(reader: WireReader, values: ByteArena): void {
  const outerEnd = reader.enter();
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === PACKED_VALUES || tag === SINGLE_VALUE) readFloats(reader, tag, values);
    else reader.skipField(tag);
  }
  reader.leave(outerEnd);
}

/** Appends the values of a repeated float whose tag has been read: one, or a packed run of them. */
export function readFloats(reader: WireReader, tag: number, values: ByteArena): void {
  const isPacked = (tag & 7) === WireType.LengthDelimited;
  const byteLength = isPacked ? reader.length() : FLOAT_BYTES;
  if (byteLength % FLOAT_BYTES !== 0) {
    throw invalid(`the message is not valid protobuf: ${byteLength} bytes of packed floats`);
  }
  const start = reader.skipBytes(byteLength);
  values.append(reader.bytes.subarray(start, start + byteLength));
}
