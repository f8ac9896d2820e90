/** Those that wait for a signal. Node.js warns of a leak where a signal has more than ten listeners. */
const WAITING = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `listener` when the signal is aborted, at once if it is; answers what takes that back. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return () => {};
  }
  const waiting = WAITING.get(signal) ?? watch(signal);
  waiting.add(listener);
  return () => void waiting.delete(listener);
}

/** One listener does for all, and stays. */
function watch(signal: AbortSignal): Set<() => void> {
  const waiting = new Set<() => void>();
  WAITING.set(signal, waiting);
  signal.addEventListener('abort', () => {
    for (const listener of waiting) listener();
  });
  return waiting;
}
