import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_MS = 1;

interface Waiting {
  readonly at: number;
  readonly endsAtMs: number;
  readonly resolve: (missing: number) => void;
}

/** What waits until a number has grown to one of its own. One look at the number serves all of it. */
export class Waits {
  readonly #waiting = new Set<Waiting>();

  /** @param now the number, which never becomes smaller */
  constructor(private readonly now: () => number) {}

  /** Resolves with 0 once the number is at least this, or after so many ms with what it lacks. */
  async until(at: number, patienceMs: number): Promise<number> {
    if (this.now() >= at) return 0;
    const endsAtMs = performance.now() + patienceMs;
    return await new Promise((resolve) => {
      this.#waiting.add({ at, endsAtMs, resolve });
      if (this.#waiting.size === 1) void this.#look();
    });
  }

  async #look(): Promise<void> {
    while (this.#waiting.size > 0) {
      await sleep(LOOK_MS);
      const now = this.now();
      for (const waiting of this.#waiting) {
        const missing = Math.max(0, waiting.at - now);
        if (missing > 0 && performance.now() < waiting.endsAtMs) continue;
        this.#waiting.delete(waiting);
        waiting.resolve(missing);
      }
    }
  }
}
