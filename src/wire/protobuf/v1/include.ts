import { invalid } from '../../../core/errors.js';
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

/** Reads the Include of a search; answers its bits. A second one adds to the bits of `earlier`. */
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

/** The same where there are no distances. */
export function readIncludeOfPoints(reader: WireReader, earlier = 0): number {
  const bits = readInclude(reader, '', earlier);
  if ((bits & DISTANCE) === 0) return bits;
  throw invalid('include.distance is true, expected false: only a search has distances');
}
