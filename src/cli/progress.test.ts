import { expect, test } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.js';
import { Progress } from './progress.js';

test('work that is done within two seconds says nothing, and longer work a line now and then', async () => {
  const lines: string[] = [];
  const clock = new ManualClock();
  const output = { write: (line: string) => lines.push(line) > 0 };
  const progress = new Progress('checked', output, clock);
  for (; clock.nowMs() < 2_000; await clock.advance(100)) progress.at(1, 4);
  expect(lines).toEqual([]);
  for (; clock.nowMs() < 6_500; await clock.advance(100)) {
    progress.at(clock.nowMs(), 1024 * 1024);
  }
  expect(lines).toEqual([
    'checked 2.0 KiB of 1.0 MiB\n',
    'checked 3.9 KiB of 1.0 MiB\n',
    'checked 5.9 KiB of 1.0 MiB\n',
  ]);
});
