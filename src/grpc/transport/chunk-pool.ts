/** What a chunk of a long message has at most, unless one item of it has more. */
export const CHUNK_BYTES = 256 * 1024;

/** Free chunks that are kept, 1 MiB for each loop. */
const MAX_FREE = 4;

/**
 * Memory for the chunks of long messages, which is used again once a chunk has been sent: V8 counts
 * what is taken anew, and collects garbage for every few dozen MiB of it.
 */
export class ChunkPool {
  readonly #free: Buffer[] = [];

  /** Memory of at least so many bytes; what it holds is undefined. */
  take(bytes: number): Buffer {
    if (bytes > CHUNK_BYTES) return Buffer.allocUnsafeSlow(bytes);
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES);
  }

  /** Takes back the memory of a chunk that nobody reads any more. */
  give({ buffer }: Uint8Array): void {
    if (buffer.byteLength !== CHUNK_BYTES || this.#free.length >= MAX_FREE) return;
    this.#free.push(Buffer.from(buffer as ArrayBuffer));
  }
}
