const FLOAT_BYTES = 4;

/**
 * One piece of memory for the values of all vectors of a message. They are copied out of it,
 * because floats lie unaligned there and a view would keep the whole message in memory. Vectors
 * are read one after the other, so the values of one, in however many runs they come, end up side
 * by side. Wire order is memory order: the engine is built for little-endian platforms only.
 */
export class FloatArena {
  readonly #bytes: Buffer<ArrayBuffer>;
  #length = 0;

  /** `messageBytes`, because a message cannot hold more values than it has bytes for. */
  constructor(messageBytes: number) {
    // Of a few kilobytes it is a part of memory that is there already, aligned to eight bytes.
    this.#bytes = Buffer.allocUnsafe(messageBytes);
  }

  /** Where the next value goes, for `valuesFrom`. */
  get length(): number {
    return this.#length;
  }

  append(source: Uint8Array, start: number, byteLength: number): void {
    this.#bytes.set(source.subarray(start, start + byteLength), this.#length);
    this.#length += byteLength;
  }

  /** All values since the arena had this length. */
  valuesFrom(start: number): Float32Array {
    const { buffer, byteOffset } = this.#bytes;
    return new Float32Array(buffer, byteOffset + start, (this.#length - start) / FLOAT_BYTES);
  }
}
