/** How the values of a vector lie in a file, least byte first. */
export interface ValueType {
  readonly bytes: number;
  /** Writes the values of a row to `target`. */
  read(row: Buffer, target: Float32Array): void;
  /** The value at a place, where single precision may not have it exactly. */
  readonly exactAt?: (row: Buffer, at: number) => number | bigint;
}

export const FLOAT32: ValueType = {
  bytes: 4,
  read(row, target) {
    for (let at = 0; at < target.length; at += 1) target[at] = row.readFloatLE(at * 4);
  },
};

export const FLOAT64: ValueType = {
  bytes: 8,
  read(row, target) {
    for (let at = 0; at < target.length; at += 1) target[at] = row.readDoubleLE(at * 8);
  },
};

export const FLOAT16: ValueType = {
  bytes: 2,
  read(row, target) {
    for (let at = 0; at < target.length; at += 1) target[at] = halfOf(row.readUInt16LE(at * 2));
  },
};

export const UINT8: ValueType = {
  bytes: 1,
  read(row, target) {
    target.set(row);
  },
};

export const INT8: ValueType = {
  bytes: 1,
  read(row, target) {
    for (let at = 0; at < target.length; at += 1) target[at] = row.readInt8(at);
  },
};

export const UINT16 = whole(2, (row, at) => row.readUInt16LE(at * 2));
export const INT16 = whole(2, (row, at) => row.readInt16LE(at * 2));
export const UINT32 = whole(4, (row, at) => row.readUInt32LE(at * 4));
export const INT32 = whole(4, (row, at) => row.readInt32LE(at * 4));
export const UINT64 = whole(8, (row, at) => row.readBigUInt64LE(at * 8));
export const INT64 = whole(8, (row, at) => row.readBigInt64LE(at * 8));

/** Whole numbers of so many bytes. */
function whole(bytes: number, exactAt: (row: Buffer, at: number) => number | bigint): ValueType {
  return {
    bytes,
    exactAt,
    read(row, target) {
      for (let at = 0; at < target.length; at += 1) target[at] = Number(exactAt(row, at));
    },
  };
}

/** The number that 16 bits of IEEE 754 stand for. */
function halfOf(bits: number): number {
  const sign = bits >> 15 === 0 ? 1 : -1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
