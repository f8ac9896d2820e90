/** What decides by time asks this: the real one, or one that a test moves on by hand. */
export interface Clock {
  /** Acts each time that so long has passed, and keeps no process alive; gives what ends it. */
  every(intervalMs: number, act: () => unknown): () => void;
}

export const REAL_CLOCK: Clock = {
  every(intervalMs, act) {
    const timer = setInterval(act, intervalMs).unref();
    return () => clearInterval(timer);
  },
};
