import { pino } from 'pino';
import { expect, test } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.js';
import { DiskWatch, MEASURE_INTERVAL_MS } from './disk-watch.js';
import { LEAST_FREE_BYTES } from './folder-size.js';

test('a disk that is nearly full is told once, and again after it had room', async () => {
  const clock = new ManualClock();
  const lines: unknown[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line));
  let left: number | undefined = LEAST_FREE_BYTES;
  const measure = async () => await (left === undefined ? Promise.reject() : Promise.resolve(left));
  const watch = new DiskWatch('/points', pino({}, { write }), clock, measure);
  const told: boolean[] = [];
  watch.onLook = (isFull) => void told.push(isFull);
  const look = async (bytes: number | undefined) => {
    left = bytes;
    await clock.advance(MEASURE_INTERVAL_MS);
  };
  await look(LEAST_FREE_BYTES);
  expect(lines).toEqual([]);
  await look(LEAST_FREE_BYTES - 1);
  // About the least it is no line each second.
  await look(LEAST_FREE_BYTES);
  await look(LEAST_FREE_BYTES - 1);
  // A system that does not tell changes nothing.
  await look(undefined);
  expect(lines).toMatchObject([
    {
      level: 40,
      msg: expect.stringContaining('the disk is nearly full'),
      dataPath: '/points',
      availableBytes: LEAST_FREE_BYTES - 1,
    },
  ]);
  expect(told).toEqual([false, true, false, true]);
  await look(2 * LEAST_FREE_BYTES);
  await look(0);
  expect(lines.slice(1)).toMatchObject([
    { level: 30, msg: 'the disk has room again' },
    { level: 40, availableBytes: 0 },
  ]);
  watch.close();
  await look(0);
  expect(told).toHaveLength(6);
});
