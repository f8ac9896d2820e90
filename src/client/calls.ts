import { members, milliseconds, whole, wrong } from './checks.js';
import { CancelledError, ConnectionLostError, type VectordError } from './errors.js';
import type { CallOptions, Retries } from './interface.js';
import { repeat } from './repeat.js';
import { within } from './time-limit.js';
import type { Attempt } from './transport.js';

export const DEFAULT_DEADLINE_MS = 30_000;
/** Their waits take about 7 s together: a service that starts again is there by then. */
export const DEFAULT_RETRIES: Retries = { attempts: 8, baseMs: 100, maxMs: 2_000 };

export const CALL_OPTIONS = [
  'deadlineMs',
  'signal',
  'retries',
] as const satisfies readonly (keyof CallOptions)[];

const RETRIES: readonly string[] = [
  'attempts',
  'baseMs',
  'maxMs',
] satisfies readonly (keyof Retries)[];

/** A day. */
const LONGEST_DELAY_MS = 86_400_000;

/** For a call that has the same effect however often it is made. */
export function always({ retryable }: VectordError): boolean {
  return retryable;
}

/** For a call that must not be made twice: only if no service has begun it. */
export function ifNotBegun(failure: VectordError): boolean {
  if (failure instanceof ConnectionLostError) return failure.isUnsent;
  return failure.code === 'OVERLOADED' || failure.code === 'UNAVAILABLE';
}

/** Makes the calls of a client: each with its deadline, repeated where that helps. */
export class Calls {
  readonly #closing = new AbortController();
  readonly deadlineMs: number;
  readonly retries: Retries;

  constructor({ deadlineMs = DEFAULT_DEADLINE_MS, retries }: Omit<CallOptions, 'signal'>) {
    this.deadlineMs = milliseconds('deadlineMs', deadlineMs);
    this.retries = merged(DEFAULT_RETRIES, retries);
  }

  /** Aborted once the client is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  async make<Answer>(
    attempt: Attempt<Answer>,
    options: CallOptions = {},
    mayRepeat = always,
  ): Promise<Answer> {
    const given = members('options', options, CALL_OPTIONS);
    const { deadlineMs = this.deadlineMs, signal, retries } = given;
    const endMs = performance.now() + milliseconds('deadlineMs', deadlineMs);
    const rules = { ...merged(this.retries, retries), mayRepeat, endsAtMs: () => endMs };
    const ends = { deadlineMs, signal, closing: this.closing };
    return await within(ends, (ended) => repeat(attempt, rules, ended));
  }

  close(): void {
    this.#closing.abort(new CancelledError('the client is closed'));
  }
}

function merged(defaults: Retries, given: CallOptions['retries'] = {}): Retries {
  if (given === 0) return { ...defaults, attempts: 1 };
  if (typeof given === 'number') throw wrong('retries', given, 'an object, or 0 for none');
  const known = members('retries', given, RETRIES);
  const { attempts = defaults.attempts, baseMs = defaults.baseMs, maxMs = defaults.maxMs } = known;
  return {
    attempts: attempts === Infinity ? attempts : whole('retries.attempts', attempts, 1),
    baseMs: milliseconds('retries.baseMs', baseMs, LONGEST_DELAY_MS),
    maxMs: milliseconds('retries.maxMs', maxMs, LONGEST_DELAY_MS),
  };
}
