import { expect, test, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.js';
import { LEAST_BYTES_PER_CHECK, CHECK_MS, failWhenSlow } from './min-data-rate.js';

test('what goes on arriving is left alone, and what does not is told of', async () => {
  let bytes = 1_000_000;
  const clock = new ManualClock();
  const fail = vi.fn<() => void>();
  const end = failWhenSlow(() => bytes, fail, clock);
  for (let look = 0; look < 50; look += 1) {
    bytes += LEAST_BYTES_PER_CHECK;
    await clock.advance(CHECK_MS);
  }
  expect(fail).not.toHaveBeenCalled();
  bytes += LEAST_BYTES_PER_CHECK - 1;
  await clock.advance(CHECK_MS - 1);
  expect(fail).not.toHaveBeenCalled();
  await clock.advance(1);
  expect(fail).toHaveBeenCalledOnce();
  end();
  await clock.advance(10 * CHECK_MS);
  expect(fail).toHaveBeenCalledOnce();
});
