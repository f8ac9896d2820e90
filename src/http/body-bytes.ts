/** Smaller chunks are copied together until they are as many bytes. */
const PART_BYTES = 16 * 1024;

/**
 * The bytes of a body. Small chunks are copied together: a buffer takes some hundred bytes besides
 * its own, and a client may send each byte in a chunk of its own.
 */
export class BodyBytes {
  readonly #parts: Buffer[] = [];
  #small: Buffer | undefined;
  #smallLength = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(chunk: Buffer): void {
    // Most bodies have no other chunk than the first.
    const isKept = this.#length === 0 || chunk.length >= PART_BYTES;
    if (isKept || this.#smallLength + chunk.length > PART_BYTES) this.#joinSmall();
    this.#length += chunk.length;
    if (isKept) {
      this.#parts.push(chunk);
      return;
    }
    this.#small ??= Buffer.allocUnsafeSlow(PART_BYTES);
    this.#smallLength += chunk.copy(this.#small, this.#smallLength);
  }

  all(): Buffer {
    this.#joinSmall();
    const [first] = this.#parts;
    const isWhole = first !== undefined && this.#parts.length === 1;
    return isWhole ? first : Buffer.concat(this.#parts, this.#length);
  }

  #joinSmall(): void {
    if (this.#small === undefined || this.#smallLength === 0) return;
    this.#parts.push(Buffer.from(this.#small.subarray(0, this.#smallLength)));
    this.#smallLength = 0;
  }
}
