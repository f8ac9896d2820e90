import { VectordError } from './errors.js';

/**
 * The bytes of all requests that are being read or answered, on both interfaces together, so that
 * many large requests at once are refused instead of exhausting the memory of the process.
 */
export class InflightBytes {
  #usedBytes = 0;

  constructor(readonly maxBytes: number) {}

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Takes `bytes` from the budget, to be given back by `release`; throws when it is used up. */
  reserve(bytes: number): void {
    if (this.#usedBytes + bytes > this.maxBytes) {
      throw new VectordError(
        'OVERLOADED',
        `more than ${this.maxBytes} bytes of requests at one time (MAX_INFLIGHT_BYTES); try again`,
      );
    }
    this.#usedBytes += bytes;
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}
