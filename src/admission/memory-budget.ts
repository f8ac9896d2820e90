import { VectordError } from '../core/errors.js';
import { bytesOf } from '../core/records.js';
import { SharedCount } from './shared-count.js';

/** A request that takes no more than this is small: a search, a point, their answers. */
const SMALL_BYTES = 64 * 1024;
/** One in so many bytes of the budget is for small requests alone. */
const SMALL_SHARE = 8;

/**
 * The bytes of all requests that are being read or answered, on both interfaces together, so that
 * many large requests at once are refused instead of exhausting the memory of the process. Large
 * ones, however many, leave a part of the budget to small ones. All loops have the same budget.
 */
export class MemoryBudget {
  readonly #forLargeBytes: number;

  /** There is always as much for large requests as the largest one may take. */
  constructor(
    readonly maxBytes: number,
    maxRequestBytes = 0,
    /** The bytes that are taken. */
    private readonly used = new SharedCount(),
  ) {
    const rest = maxBytes - Math.floor(maxBytes / SMALL_SHARE);
    this.#forLargeBytes = Math.min(maxBytes, Math.max(rest, maxRequestBytes));
  }

  get usedBytes(): number {
    return this.used.value;
  }

  /**
   * Throws when `bytes` are more than what is left of the budget for a request that has taken so
   * many already.
   */
  check(bytes: number, takenBytes = 0): void {
    if (!this.#fits(this.usedBytes + bytes, takenBytes + bytes)) throw this.#usedUp();
  }

  /** Takes `bytes` from the budget, to be given back by `release`; throws when it is used up. */
  reserve(bytes: number, takenBytes = 0): void {
    if (this.#fits(this.used.add(bytes), takenBytes + bytes)) return;
    this.release(bytes);
    throw this.#usedUp();
  }

  release(bytes: number): void {
    this.used.add(-bytes);
  }

  /** Whether so many bytes may be taken in all, `ofRequestBytes` of them by one request. */
  #fits(bytes: number, ofRequestBytes: number): boolean {
    const isSmall = ofRequestBytes <= SMALL_BYTES;
    return bytes <= (isSmall ? this.maxBytes : this.#forLargeBytes);
  }

  #usedUp(): VectordError {
    return new VectordError(
      'OVERLOADED',
      `more than ${this.maxBytes} bytes of requests at one time (MAX_INFLIGHT_BYTES); try again`,
    );
  }
}

/**
 * What one request has taken of the budget. Work that goes on after the end of its request, as
 * decompression may, takes nothing any more: nobody would be left to give it back.
 */
export class Reservation {
  #bytes = 0;
  #hasEnded = false;

  constructor(private readonly inflight: MemoryBudget) {}

  get bytes(): number {
    return this.#bytes;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  take(bytes: number): void {
    if (this.#hasEnded) return;
    this.inflight.reserve(bytes, this.#bytes);
    this.#bytes += bytes;
  }

  /** Takes what arrays need beyond the bytes that they were read from, which are taken; answers it. */
  takeArrays(arrays: object, readBytes: number): number {
    const bytes = Math.max(0, bytesOf(arrays) - readBytes);
    if (bytes > 0) this.take(bytes);
    return bytes;
  }

  /** Gives a part of it back. */
  give(bytes: number): void {
    if (this.#hasEnded) return;
    this.inflight.release(bytes);
    this.#bytes -= bytes;
  }

  /** Gives everything back. */
  end(): void {
    this.inflight.release(this.#bytes);
    this.#bytes = 0;
    this.#hasEnded = true;
  }
}
