import { VectordError } from './errors.js';
import type { Retries } from './interface.js';
import { onAbort } from './on-abort.js';
import { LONGEST_TIMER_MS } from './time-limit.js';
import type { Attempt } from './transport.js';

/** No delay doubles more often: it stays a number. */
const MOST_DOUBLINGS = 31;

export interface RepeatRules extends Retries {
  /** Whether the call may be made again after this failure. */
  readonly mayRepeat: (failure: VectordError) => boolean;
  /** Until when, by `performance.now()`, a call may be made again whose first try failed at this time. */
  readonly endsAtMs: (failedAtMs: number) => number;
}

/**
 * Makes a call until it succeeds or there is no use in another try, and answers or throws what the
 * last one did. Between two tries it waits: twice as long each time, a quarter more or less at random,
 * so that clients that failed together do not come back together. What the service asks for is added.
 */
export async function repeat<Answer>(
  attempt: Attempt<Answer>,
  { attempts, baseMs, maxMs, mayRepeat, endsAtMs }: RepeatRules,
  signal: AbortSignal,
): Promise<Answer> {
  let failedAtMs: number | undefined;
  for (let tries = 1; ; tries += 1) {
    signal.throwIfAborted();
    try {
      // oxlint-disable-next-line no-await-in-loop -- one try after the other
      return await attempt(signal);
    } catch (error) {
      signal.throwIfAborted();
      const mayGoOn = error instanceof VectordError && mayRepeat(error);
      if (!mayGoOn || tries >= attempts) throw error;
      const nowMs = performance.now();
      failedAtMs ??= nowMs;
      const meanMs = Math.min(maxMs, baseMs * 2 ** Math.min(tries - 1, MOST_DOUBLINGS));
      const askedMs = Math.min(error.retryAfterMs ?? 0, LONGEST_TIMER_MS / 2);
      const delayMs = askedMs + meanMs * (0.75 + Math.random() / 2);
      // Whoever waits in vain would rather know why.
      if (nowMs + delayMs >= endsAtMs(failedAtMs)) throw error;
      // oxlint-disable-next-line no-await-in-loop -- the wait is between two tries
      await sleep(delayMs, signal);
    }
  }
}

/** Rejects with the reason of the signal once that is aborted. */
async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stopListening: (() => void) | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(resolve, ms);
      stopListening = onAbort(signal, () => reject(signal.reason as Error));
    });
  } finally {
    clearTimeout(timer);
    stopListening?.();
  }
}
