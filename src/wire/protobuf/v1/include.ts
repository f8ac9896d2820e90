import { CONTENT, CONTENT_TYPE, DISTANCE, METADATA, VECTOR } from '../../../core/include.js';
import { tagOf, WireType, type WireReader } from '../wire-reader.js';
import { readBool, readMessage } from './strict.js';

/** The bit that each field stands for. */
const BITS: ReadonlyMap<number, number> = new Map(
  [DISTANCE, VECTOR, CONTENT, CONTENT_TYPE, METADATA].map((bit, index) => [
    tagOf(index + 1, WireType.Varint),
    bit,
  ]),
);

/** The bits of the Include that follows; one that comes again adds to `earlier`. */
export function readInclude(reader: WireReader, where: string, earlier = 0): number {
  let bits = earlier;
  readMessage(reader, `${where}include`, (tag) => {
    const bit = BITS.get(tag);
    if (bit === undefined) return false;
    bits = readBool(reader) ? bits | bit : bits & ~bit;
    return true;
  });
  return bits;
}
