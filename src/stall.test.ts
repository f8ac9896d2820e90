import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LEAST_BYTES_PER_LOOK, LOOK_MS, whenStalled } from './stall.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('what goes on arriving is left alone, and what does not is told of', () => {
  let bytes = 1_000_000;
  const fail = vi.fn<() => void>();
  const end = whenStalled(() => bytes, fail);
  for (let look = 0; look < 50; look += 1) {
    bytes += LEAST_BYTES_PER_LOOK;
    vi.advanceTimersByTime(LOOK_MS);
  }
  expect(fail).not.toHaveBeenCalled();
  bytes += LEAST_BYTES_PER_LOOK - 1;
  vi.advanceTimersByTime(LOOK_MS);
  expect(fail).toHaveBeenCalledOnce();
  end();
  vi.advanceTimersByTime(10 * LOOK_MS);
  expect(fail).toHaveBeenCalledOnce();
});
