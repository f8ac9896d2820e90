import type { Clock } from '../../src/core/clock.js';

interface Task {
  readonly act: () => unknown;
  /** Undefined for what is done once. */
  readonly intervalMs?: number;
  dueAtMs: number;
}

/** A clock that stands still until a test moves it on. */
export class ManualClock implements Clock {
  readonly #tasks = new Set<Task>();
  #nowMs = 0;

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, act: () => unknown): () => void {
    return this.#add({ act, dueAtMs: this.#nowMs + delayMs });
  }

  every(intervalMs: number, act: () => unknown): () => void {
    return this.#add({ act, intervalMs, dueAtMs: this.#nowMs + intervalMs });
  }

  /** Moves on, and waits for what is done meanwhile: one after the other, as it is due. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    for (;;) {
      const [next] = [...this.#tasks].toSorted((one, other) => one.dueAtMs - other.dueAtMs);
      if (next === undefined || next.dueAtMs > untilMs) break;
      this.#nowMs = next.dueAtMs;
      if (next.intervalMs === undefined) this.#tasks.delete(next);
      else next.dueAtMs += next.intervalMs;
      await next.act();
    }
    this.#nowMs = untilMs;
  }

  #add(task: Task): () => void {
    this.#tasks.add(task);
    return () => void this.#tasks.delete(task);
  }
}
