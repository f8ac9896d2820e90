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

  /** Throws when `bytes` are more than what is left of the budget. */
  check(bytes: number): void {
    if (this.#usedBytes + bytes <= this.maxBytes) return;
    throw new VectordError(
      'OVERLOADED',
      `more than ${this.maxBytes} bytes of requests at one time (MAX_INFLIGHT_BYTES); try again`,
    );
  }

  /** Takes `bytes` from the budget, to be given back by `release`; throws when it is used up. */
  reserve(bytes: number): void {
    this.check(bytes);
    this.#usedBytes += bytes;
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}

/**
 * What one request has taken of the budget. Work that goes on after the end of its request, as
 * decompression may, takes nothing any more: nobody would be left to give it back.
 */
export class Reservation {
  #bytes = 0;
  #hasEnded = false;

  constructor(private readonly inflight: InflightBytes) {}

  get bytes(): number {
    return this.#bytes;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  take(bytes: number): void {
    if (this.#hasEnded) return;
    this.inflight.reserve(bytes);
    this.#bytes += bytes;
  }

  /** Gives everything back. */
  end(): void {
    this.inflight.release(this.#bytes);
    this.#bytes = 0;
    this.#hasEnded = true;
  }
}
