const LOOK_MS = 20;

/** How long a count stands still at most. */
export class Standstill {
  longestMs = 0;
  #last: number;
  #sinceMs = performance.now();
  readonly #looking: NodeJS.Timeout;

  constructor(count: () => number) {
    this.#last = count();
    this.#looking = setInterval(() => {
      const found = count();
      const nowMs = performance.now();
      this.longestMs = Math.max(this.longestMs, nowMs - this.#sinceMs);
      if (found !== this.#last) [this.#last, this.#sinceMs] = [found, nowMs];
    }, LOOK_MS);
  }

  end(): void {
    clearInterval(this.#looking);
  }
}
