import { wrong } from './checks.js';
import { CancelledError, TimeoutError } from './errors.js';
import { onAbort } from './on-abort.js';
import type { Attempt } from './transport.js';

/** A timer of JavaScript that is set for longer ends at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** What ends a call before its answer. */
export interface Ends {
  /** In ms from now; Infinity for never. */
  readonly deadlineMs: number;
  /** That of the caller. */
  readonly signal?: AbortSignal | undefined;
  /** That of the client, or of what the call is a part of; its reason is the error. */
  readonly closing: AbortSignal;
}

/**
 * Does what takes a signal, and aborts it with a TimeoutError after the deadline, with a CancelledError
 * once the caller gives it up. No listener stays behind at a signal that lives longer.
 */
export async function within<Answer>(
  { deadlineMs, signal, closing }: Ends,
  work: Attempt<Answer>,
): Promise<Answer> {
  if (signal !== undefined && typeof signal?.aborted !== 'boolean') {
    throw wrong('signal', signal, 'an AbortSignal');
  }
  const controller = new AbortController();
  const close = (): void => controller.abort(closing.reason);
  const cancel = (): void => {
    const cause: unknown = signal?.reason;
    controller.abort(new CancelledError('the call was given up by its signal', { cause }));
  };
  const timeOut = (): void => {
    controller.abort(
      new TimeoutError(`no answer within ${deadlineMs} ms, the deadline of the call`),
    );
  };
  const stopListening = [onAbort(closing, close)];
  if (signal !== undefined) stopListening.push(onAbort(signal, cancel));
  const timer = deadlineMs <= LONGEST_TIMER_MS ? setTimeout(timeOut, deadlineMs) : undefined;
  try {
    controller.signal.throwIfAborted();
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    for (const stop of stopListening) stop();
  }
}
