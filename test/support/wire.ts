/** Protobuf by hand, for messages that no encoder would write. */

export const VARINT = 0;
export const FIXED64 = 1;
export const LENGTH_DELIMITED = 2;
export const START_GROUP = 3;
export const END_GROUP = 4;
export const FIXED32 = 5;

export function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return Buffer.from([...bytes, Number(rest)]);
}

export function tag(field: number, wireType: number): Buffer {
  return varint((BigInt(field) << 3n) | BigInt(wireType));
}

export function integer(field: number, value: number | bigint): Buffer {
  return Buffer.concat([tag(field, VARINT), varint(value)]);
}

/** A field of text, bytes, or a message given by its fields. */
export function delimited(field: number, ...content: readonly (string | Uint8Array)[]): Buffer {
  const bytes = Buffer.concat(content.map((part) => Buffer.from(part)));
  return Buffer.concat([tag(field, LENGTH_DELIMITED), varint(bytes.length), bytes]);
}

export function fixed(field: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([tag(field, bytes.length === 4 ? FIXED32 : FIXED64), bytes]);
}

export function group(field: number, ...content: readonly Uint8Array[]): Buffer {
  return Buffer.concat([tag(field, START_GROUP), ...content, tag(field, END_GROUP)]);
}

export function floats(values: Iterable<number>): Buffer {
  return Buffer.from(Float32Array.from(values).buffer);
}

/** The values of a DenseVector as one packed run, and as single values. */
export function packed(values: Iterable<number>): Buffer {
  return delimited(1, floats(values));
}

export function unpacked(values: Iterable<number>): Buffer {
  return Buffer.concat(Array.from(values, (value) => fixed(1, floats([value]))));
}

/** An InsertVectorRequest of Text, and a SearchRequest; either may get further fields. */
export function insertRequest(values: Iterable<number>, content: string): Buffer {
  return Buffer.concat([
    delimited(1, packed(values)),
    delimited(2, integer(1, 1), delimited(2, content)),
  ]);
}

export function searchRequest(values: Iterable<number>, limit: number | bigint): Buffer {
  return Buffer.concat([delimited(1, packed(values)), integer(3, limit)]);
}
