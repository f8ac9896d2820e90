import { expect, test } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.js';
import { Bar, formatTime, type BarOutput } from './bar.js';

/** What a bar writes in twelve seconds, in which all the work is done. */
async function written(isTTY: boolean, isShareKnown: boolean): Promise<string[]> {
  const texts: string[] = [];
  const output: BarOutput = { isTTY, write: (text: string) => texts.push(text) > 0 };
  const clock = new ManualClock();
  const bar = new Bar('rows', 'step: ', output, clock);
  for (; clock.nowMs() < 12_000; await clock.advance(1_000)) {
    bar.at(clock.nowMs(), isShareKnown ? clock.nowMs() / 12_000 : undefined);
  }
  bar.clear();
  return texts;
}

test('where nobody watches there is a line every five seconds', async () => {
  expect(await written(false, true)).toEqual([
    'step: [##########..............] 41% 5,000 rows, 1,000/s, 7s left\n',
    'step: [####################....] 83% 10,000 rows, 1,000/s, 2s left\n',
  ]);
});

test('on a terminal one line is drawn again and again, and cleared at the end', async () => {
  const texts = await written(true, true);
  expect(texts[0]).toBe(
    '\r\u001B[Kstep: [##......................] 8% 1,000 rows, 1,000/s, 11s left',
  );
  expect(texts).toHaveLength(12);
  expect(texts.at(-1)).toBe('\r\u001B[K');
});

test('without an end in sight there are only counts', async () => {
  expect(await written(false, false)).toEqual([
    'step: 5,000 rows, 1,000/s\n',
    'step: 10,000 rows, 1,000/s\n',
  ]);
});

test.each([
  [0.2, '1s'],
  [59, '59s'],
  [60, '1m 0s'],
  [3_599.5, '1h 0m'],
  [100 * 3600 + 61, '100h 1m'],
])('%d seconds are shown as %s', (seconds, text) => {
  expect(formatTime(seconds)).toBe(text);
});
