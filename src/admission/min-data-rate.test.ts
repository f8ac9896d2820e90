import { expect, test, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.js';
import { LEAST_BYTES_PER_LOOK, LOOK_MS, whenStalled } from './min-data-rate.js';

test('what goes on arriving is left alone, and what does not is told of', async () => {
  let bytes = 1_000_000;
  const clock = new ManualClock();
  const fail = vi.fn<() => void>();
  const end = whenStalled(() => bytes, fail, clock);
  for (let look = 0; look < 50; look += 1) {
    bytes += LEAST_BYTES_PER_LOOK;
    await clock.advance(LOOK_MS);
  }
  expect(fail).not.toHaveBeenCalled();
  bytes += LEAST_BYTES_PER_LOOK - 1;
  await clock.advance(LOOK_MS - 1);
  expect(fail).not.toHaveBeenCalled();
  await clock.advance(1);
  expect(fail).toHaveBeenCalledOnce();
  end();
  await clock.advance(10 * LOOK_MS);
  expect(fail).toHaveBeenCalledOnce();
});
