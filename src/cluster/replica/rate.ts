const WINDOW_MS = 1_000;

/** How often something happens in a second: in this one so far, or in the last. */
export class Rate {
  #begunAtMs = -Infinity;
  #count = 0;
  #before = 0;

  note(nowMs = performance.now()): void {
    const elapsedMs = nowMs - this.#begunAtMs;
    if (elapsedMs >= WINDOW_MS) {
      this.#before = elapsedMs < 2 * WINDOW_MS ? this.#count : 0;
      this.#count = 0;
      this.#begunAtMs = nowMs;
    }
    this.#count += 1;
  }

  get perSecond(): number {
    return Math.max(this.#count, this.#before);
  }
}
