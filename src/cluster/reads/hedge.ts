/** The durations of so many of the last calls are remembered. */
const REMEMBERED = 1_000;
/** The slowest are looked for again after so many calls. */
const LOOK_AGAIN = 100;
const SLOW = 0.95;
const LEAST_MS = 5;
/** Nothing is known of the first calls. */
const FIRST_MS = 100;
/** So many second calls are made for each call, and so many at one time after a quiet while. */
const SHARE = 0.05;
const MOST_AT_ONCE = 10;

/**
 * When another replica is asked as well, as the first is slow: after the time in which 95 of the last
 * 100 calls were answered, for 5 calls in 100 at most. Dean and Barroso, "The Tail at Scale" (CACM 2013).
 */
export class Hedge {
  readonly #durations: number[] = [];
  #calls = 0;
  #delayMs = FIRST_MS;
  #tokens = 1;

  /** A call begins: after how many milliseconds another replica may be asked. */
  begin(): number {
    this.#tokens = Math.min(this.#tokens + SHARE, MOST_AT_ONCE);
    return this.#delayMs;
  }

  /** Whether another replica may be asked now. */
  take(): boolean {
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** A replica has answered after so many milliseconds. */
  note(durationMs: number): void {
    this.#durations[this.#calls % REMEMBERED] = durationMs;
    this.#calls += 1;
    if (this.#calls % LOOK_AGAIN !== 0) return;
    const sorted = this.#durations.toSorted((a, b) => a - b);
    this.#delayMs = Math.max(LEAST_MS, sorted[Math.floor(sorted.length * SLOW)] ?? FIRST_MS);
  }
}
