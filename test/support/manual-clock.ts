import type { Clock } from '../../src/clock.js';

interface Task {
  readonly intervalMs: number;
  readonly act: () => unknown;
  dueInMs: number;
}

/** A clock that stands still until a test moves it on. */
export class ManualClock implements Clock {
  readonly #tasks = new Set<Task>();

  every(intervalMs: number, act: () => unknown): () => void {
    const task = { intervalMs, act, dueInMs: intervalMs };
    this.#tasks.add(task);
    return () => void this.#tasks.delete(task);
  }

  /** Moves on, and waits for what is done meanwhile. */
  async advance(byMs: number): Promise<void> {
    for (const task of this.#tasks) {
      task.dueInMs -= byMs;
      while (task.dueInMs <= 0 && this.#tasks.has(task)) {
        task.dueInMs += task.intervalMs;
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await task.act();
      }
    }
  }
}
