/** The sizes of the memory that is used again. */
const SIZES = [16 * 1024, 64 * 1024, 256 * 1024];

/** Less than this comes from the pool of Node.js. */
const LEAST_BYTES = 4_096;

/** The free memory of each size that is kept, for each loop. */
const MAX_FREE_BYTES = 1024 * 1024;

/**
 * Memory for messages and their chunks, which is used again once they have been sent: V8 counts what
 * is taken anew, and collects garbage for every few dozen MiB of it.
 */
export class ChunkPool {
  readonly #free = new Map<number, Buffer[]>(SIZES.map((size) => [size, []]));
  /** What it has made: the pool of Node.js, which others read, may have one of the sizes, too. */
  readonly #made = new WeakSet<ArrayBufferLike>();

  /** Memory of at least so many bytes; what it holds is undefined. */
  take(bytes: number): Buffer {
    const size = bytes < LEAST_BYTES ? undefined : SIZES.find((most) => bytes <= most);
    if (size === undefined) return Buffer.allocUnsafe(bytes);
    return this.#free.get(size)?.pop() ?? this.#make(size);
  }

  /** Takes back memory that nobody reads any more; what another has made is left alone. */
  give({ buffer }: Uint8Array): void {
    if (!this.#made.has(buffer)) return;
    const size = buffer.byteLength;
    const free = this.#free.get(size);
    if (free === undefined || (free.length + 1) * size > MAX_FREE_BYTES) return;
    free.push(Buffer.from(buffer as ArrayBuffer));
  }

  #make(size: number): Buffer {
    const made = Buffer.allocUnsafeSlow(size);
    this.#made.add(made.buffer);
    return made;
  }
}
