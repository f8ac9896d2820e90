/**
 * One piece of memory for what several fields of a message hold, behind each other: values of
 * vectors, texts, ids. It is copied out of the message, where floats lie unaligned, and of which a
 * view would keep all in memory.
 */
export class ByteArena {
  readonly #bytes: Buffer<ArrayBuffer>;
  #length = 0;

  /** `messageBytes`, because fields cannot hold more than their message has. */
  constructor(messageBytes: number) {
    // Of a few kilobytes it is a part of memory that is there already, aligned to eight bytes.
    this.#bytes = Buffer.allocUnsafe(messageBytes);
  }

  get length(): number {
    return this.#length;
  }

  append(bytes: Uint8Array): void {
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Forgets what came since the arena had this length. */
  truncate(length: number): void {
    this.#length = length;
  }

  /** What was appended. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /**
   * What was appended since the arena had this length, as floats. Wire order is memory order: the
   * engine is built for little-endian platforms only.
   */
  floatsFrom(start: number): Float32Array {
    const { buffer, byteOffset } = this.#bytes;
    const length = (this.#length - start) / Float32Array.BYTES_PER_ELEMENT;
    return new Float32Array(buffer, byteOffset + start, length);
  }
}
