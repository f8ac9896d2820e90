/** What decides by time asks this: the real one, or one that a test moves on by hand. */
export interface Clock {
  /** How much time has passed since some moment that never changes. */
  nowMs(): number;
  /** Acts once so long has passed; gives what keeps it from doing so. */
  after(delayMs: number, act: () => unknown): () => void;
  /** Acts each time that so long has passed, and keeps no process alive; gives what ends it. */
  every(intervalMs: number, act: () => unknown): () => void;
}

export const REAL_CLOCK: Clock = {
  nowMs: () => performance.now(),
  after(delayMs, act) {
    const timer = setTimeout(act, delayMs);
    return () => clearTimeout(timer);
  },
  every(intervalMs, act) {
    const timer = setInterval(act, intervalMs).unref();
    return () => clearInterval(timer);
  },
};
