import { expect, test } from 'vitest';
import { Progress } from './progress.js';

test('work that is done within two seconds says nothing, and longer work a line now and then', () => {
  const lines: string[] = [];
  let nowMs = 0;
  const output = { write: (line: string) => lines.push(line) > 0 };
  const progress = new Progress('checked', output, () => nowMs);
  for (nowMs = 0; nowMs < 2_000; nowMs += 100) progress.at(1, 4);
  expect(lines).toEqual([]);
  for (; nowMs < 6_500; nowMs += 100) progress.at(nowMs, 1024 * 1024);
  expect(lines).toEqual([
    'checked 2.0 KiB of 1.0 MiB\n',
    'checked 3.9 KiB of 1.0 MiB\n',
    'checked 5.9 KiB of 1.0 MiB\n',
  ]);
});
