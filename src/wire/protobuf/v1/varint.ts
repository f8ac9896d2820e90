/** The bytes of a varint of a whole number below 2^32. */
export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) length += 1;
  return length;
}

/** Writes a whole number below 2^32; returns the offset behind it. */
export function writeVarint(target: Uint8Array, offset: number, value: number): number {
  let end = offset;
  let rest = value;
  while (rest > 0x7f) {
    target[end++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[end++] = rest;
  return end;
}
