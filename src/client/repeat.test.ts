import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { always, DEFAULT_RETRIES, ifNotBegun } from './calls.js';
import {
  ConnectionLostError,
  NotFoundError,
  OverloadedError,
  TimeoutError,
  UnavailableError,
} from './errors.js';
import { repeat, type RepeatRules } from './repeat.js';

const RULES: RepeatRules = {
  attempts: 4,
  baseMs: 1,
  maxMs: 2,
  mayRepeat: always,
  endsAtMs: () => Infinity,
};

const { signal: NEVER } = new AbortController();

/** A call that fails so, and then answers how often it was made. */
function failing(...failures: readonly Error[]) {
  let tries = 0;
  return async (): Promise<number> => {
    const failure = failures[tries];
    tries += 1;
    return await (failure === undefined ? Promise.resolve(tries) : Promise.reject(failure));
  };
}

const LOST = new ConnectionLostError('lost');

test('a call is made until it succeeds', async () => {
  expect(await repeat(failing(), RULES, NEVER)).toBe(1);
  expect(await repeat(failing(LOST, new TimeoutError('late'), LOST), RULES, NEVER)).toBe(4);
});

test('the last failure is thrown when no try is left', async () => {
  const last = new OverloadedError('busy');
  await expect(repeat(failing(LOST, LOST, LOST, last), RULES, NEVER)).rejects.toBe(last);
});

test('what cannot be mended is thrown at once', async () => {
  for (const failure of [new NotFoundError('none'), new Error('a mistake of ours')]) {
    await expect(repeat(failing(failure), RULES, NEVER)).rejects.toBe(failure);
  }
});

test('a call that must not be made twice is only where it was not begun', async () => {
  const rules = { ...RULES, mayRepeat: ifNotBegun };
  const unsent = new ConnectionLostError('no connection', { isUnsent: true });
  const refusals = [new OverloadedError('busy'), new UnavailableError('stopping'), unsent];
  expect(await repeat(failing(...refusals), rules, NEVER)).toBe(4);
  for (const failure of [LOST, new TimeoutError('late')]) {
    await expect(repeat(failing(failure), rules, NEVER)).rejects.toBe(failure);
  }
});

describe('the wait', () => {
  test.each([
    [0, 5_325],
    [1, 8_875],
  ])('by default outlasts a restart: a chance of %d waits %d ms in all', async (chance, ms) => {
    vi.useFakeTimers();
    vi.spyOn(Math, 'random').mockReturnValue(chance);
    onTestFinished(() => {
      vi.useRealTimers();
      vi.restoreAllMocks();
    });
    const start = performance.now();
    const lost = Array.from({ length: DEFAULT_RETRIES.attempts }, () => LOST);
    const call = repeat(failing(...lost), { ...RULES, ...DEFAULT_RETRIES }, NEVER);
    await Promise.all([expect(call).rejects.toBe(LOST), vi.runAllTimersAsync()]);
    expect(performance.now() - start).toBeCloseTo(ms, -1);
  });

  test('is no shorter than the service asks for', async () => {
    const start = performance.now();
    await repeat(failing(new OverloadedError('busy', { retryAfterMs: 50 })), RULES, NEVER);
    // A timer may be early by a part of a millisecond.
    expect(performance.now() - start).toBeGreaterThan(49);
  });

  test('is left out where it would go beyond the end', async () => {
    const busy = new OverloadedError('busy', { retryAfterMs: 60_000 });
    const rules = { ...RULES, endsAtMs: (failedAtMs: number) => failedAtMs + 59_000 };
    await expect(repeat(failing(busy), rules, NEVER)).rejects.toBe(busy);
  });

  test('ends when the call is given up', async () => {
    const giveUp = new AbortController();
    const busy = new OverloadedError('busy', { retryAfterMs: 60_000 });
    const call = repeat(failing(busy), RULES, giveUp.signal);
    giveUp.abort(LOST);
    await expect(call).rejects.toBe(LOST);
    await expect(repeat(failing(), RULES, giveUp.signal)).rejects.toBe(LOST);
  });
});
