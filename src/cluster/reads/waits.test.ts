import { expect, test } from 'vitest';
import { Waits } from './waits.js';

test('one look at the number serves all that wait for it', async () => {
  let looks = 0;
  let number = 0;
  const waits = new Waits(() => {
    looks += 1;
    return number;
  });
  const all = Array.from({ length: 1_000 }, (_, at) => waits.until(at + 1, 60_000));
  // Each looks once when it comes.
  await expect.poll(() => looks).toBeGreaterThan(1_002);
  number = 500;
  expect(await Promise.all(all.slice(0, 500))).toEqual(Array(500).fill(0));
  number = 1_000;
  expect(await Promise.all(all)).toEqual(Array(1_000).fill(0));
  expect(looks).toBeLessThan(10_000);
});

test('who waits for too long is told so, and others wait on', async () => {
  let number = 0;
  const waits = new Waits(() => number);
  const patient = waits.until(1, 60_000);
  expect(await waits.until(3, 20)).toBe(3);
  number = 1;
  expect(await patient).toBe(0);
  expect(await waits.until(1, 0)).toBe(0);
});
