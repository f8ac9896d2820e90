import { invalid } from '../../core/errors.js';
import type { FloatArena } from './float-arena.js';
import { WireType, tagOf, type WireReader } from './wire-reader.js';

const PACKED_VALUES = tagOf(1, WireType.LengthDelimited);
const SINGLE_VALUE = tagOf(1, WireType.Fixed32);
const FLOAT_BYTES = 4;

/** Appends the values of the DenseVector that follows. */
export function readVector(reader: WireReader, values: FloatArena): void {
  const outerEnd = reader.enter();
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === PACKED_VALUES) {
      const byteLength = reader.length();
      if (byteLength % FLOAT_BYTES !== 0) {
        throw invalid(`the message is not valid protobuf: ${byteLength} bytes of packed floats`);
      }
      values.append(reader.bytes, reader.skipBytes(byteLength), byteLength);
    } else if (tag === SINGLE_VALUE) {
      values.append(reader.bytes, reader.skipBytes(FLOAT_BYTES), FLOAT_BYTES);
    } else {
      reader.skipField(tag);
    }
  }
  reader.leave(outerEnd);
}
