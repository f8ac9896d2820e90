import { isUtf8 } from 'node:buffer';
import { ANY_FIELDS, TooManyFields } from '../parse-budget.js';
import { invalid } from '../../core/errors.js';

/** How the value of a field is laid out; the low three bits of a tag. */
export const WireType = {
  Varint: 0,
  Fixed64: 1,
  LengthDelimited: 2,
  StartGroup: 3,
  EndGroup: 4,
  Fixed32: 5,
} as const;

export function tagOf(field: number, wireType: number): number {
  return (field << 3) | wireType;
}

/** Groups inside of groups that are skipped; what other decoders allow too. */
const MAX_GROUP_DEPTH = 100;
const MAX_VARINT_BYTES = 10;
const MAX_TAG = 0xffff_ffff;

/**
 * Reads the protobuf wire format from one message. Whatever is wrong with the bytes throws an
 * INVALID_ARGUMENT; nothing is read past the end of the message that is open, and no more than so
 * many fields, which throws a TooManyFields.
 */
export class WireReader {
  #position = 0;
  #end: number;
  #fieldsLeft: number;

  constructor(
    readonly bytes: Uint8Array,
    maxFields = ANY_FIELDS,
  ) {
    this.#end = bytes.length;
    this.#fieldsLeft = maxFields;
  }

  /** Whether the open message has another field. */
  hasMore(): boolean {
    return this.#position < this.#end;
  }

  /** Opens the embedded message that follows; answers what `leave` needs to go on behind it. */
  enter(): number {
    const outerEnd = this.#end;
    const length = this.length();
    this.#end = this.#position + length;
    return outerEnd;
  }

  /** Goes on with the message that holds the one that was read to its end. */
  leave(outerEnd: number): void {
    this.#end = outerEnd;
  }

  tag(): number {
    this.#fieldsLeft -= 1;
    if (this.#fieldsLeft < 0) throw new TooManyFields('the message has too many fields');
    const first = this.bytes[this.#position] ?? 0;
    if (first >= 0x80 || !this.hasMore()) return this.#checkTag(this.#varint());
    this.#position += 1;
    return this.#checkTag(first);
  }

  /** A 32-bit signed integer, an enum for instance; of a longer varint the low 32 bits. */
  int32(): number {
    return Number(BigInt.asIntN(32, this.uint64()));
  }

  /** Of a longer varint the low 64 bits. */
  uint64(): bigint {
    const start = this.#position;
    const small = this.#varint();
    if (small <= Number.MAX_SAFE_INTEGER) return BigInt(small);
    this.#position = start;
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
  }

  string(): string {
    const { buffer, byteOffset, length } = this.text();
    return Buffer.from(buffer, byteOffset, length).toString();
  }

  /** The bytes of a string, in the memory of the message. */
  text(): Uint8Array {
    const start = this.skipBytes(this.length());
    const bytes = this.bytes.subarray(start, this.#position);
    if (!isUtf8(bytes)) throw malformed('a string is not UTF-8', start);
    return bytes;
  }

  double(): number {
    const start = this.skipBytes(8);
    const { buffer, byteOffset } = this.bytes;
    return new DataView(buffer, byteOffset + start, 8).getFloat64(0, true);
  }

  /** The length of what follows, which lies within the open message. */
  length(): number {
    const length = this.#varint();
    if (length > this.#end - this.#position) {
      throw malformed(`a length of ${length} bytes ends beyond the message`, this.#position);
    }
    return length;
  }

  /** Moves on by `count` bytes and answers where they start. */
  skipBytes(count: number): number {
    const start = this.#position;
    if (count > this.#end - start) throw malformed('it ends within a field', this.#end);
    this.#position = start + count;
    return start;
  }

  /** Passes over the value of a field that this version of the contract does not know. */
  skipField(tag: number): void {
    if ((tag & 7) === WireType.StartGroup) this.#skipGroup(tag);
    else this.#skipValue(tag);
  }

  #skipValue(tag: number): void {
    switch (tag & 7) {
      case WireType.Varint:
        this.#varint();
        return;
      case WireType.Fixed64:
        this.skipBytes(8);
        return;
      case WireType.LengthDelimited:
        this.skipBytes(this.length());
        return;
      case WireType.Fixed32:
        this.skipBytes(4);
        return;
      default:
        throw malformed('a group ends that did not start', this.#position);
    }
  }

  /** Not by recursion, because the client chooses the depth. */
  #skipGroup(startTag: number): void {
    const open = [startTag];
    while (open.length > 0) {
      const tag = this.tag();
      if ((tag & 7) === WireType.StartGroup) {
        open.push(tag);
        if (open.length > MAX_GROUP_DEPTH) throw malformed('groups nest too deep', this.#position);
      } else if ((tag & 7) === WireType.EndGroup) {
        if (open.pop() !== tag - 1)
          throw malformed('a group ends that is not open', this.#position);
      } else {
        this.#skipValue(tag);
      }
    }
  }

  #checkTag(tag: number): number {
    const wireType = tag % 8;
    if (tag > MAX_TAG || tag < 8 || wireType > WireType.Fixed32) {
      throw malformed(`a tag of ${tag} is none`, this.#position);
    }
    return tag;
  }

  /** A varint that is meaningful only below 2^53; a greater one stays greater than that. */
  #varint(): number {
    let value = 0;
    let scale = 1;
    for (let index = 0; index < MAX_VARINT_BYTES; index += 1) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw malformed(`a varint is longer than ${MAX_VARINT_BYTES} bytes`, this.#position);
  }

  #byte(): number {
    return this.bytes[this.skipBytes(1)] ?? 0;
  }
}

function malformed(reason: string, position: number): Error {
  return invalid(`the message is not valid protobuf: ${reason} (at byte ${position})`);
}
