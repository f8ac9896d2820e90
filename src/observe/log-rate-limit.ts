import type { Clock } from '../core/clock.js';

/**
 * Lines of one kind in a second. There may be thousands of them, and to write one takes as long as
 * to answer another request.
 */
const LINES_PER_S = 10;

/** Limits the lines of one kind in the log; the next line that is written says how many were not. */
export class LogRateLimit {
  #secondBeganAtMs = -Infinity;
  #linesInSecond = 0;
  #leftOut = 0;

  constructor(private readonly clock: Clock) {}

  /** How many lines were left out since the last; undefined when this one is to be, too. */
  next(): { leftOut?: number } | undefined {
    const nowMs = this.clock.nowMs();
    if (nowMs - this.#secondBeganAtMs >= 1_000) {
      this.#secondBeganAtMs = nowMs;
      this.#linesInSecond = 0;
    }
    this.#linesInSecond += 1;
    if (this.#linesInSecond > LINES_PER_S) {
      this.#leftOut += 1;
      return undefined;
    }
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    return leftOut === 0 ? {} : { leftOut };
  }
}
