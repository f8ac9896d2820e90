import { expect, test } from 'vitest';
import { ChunkPool } from './chunk-pool.js';

test.each([
  [4_096, 16 * 1024],
  [16 * 1024, 16 * 1024],
  [16 * 1024 + 1, 64 * 1024],
  [256 * 1024, 256 * 1024],
])('memory for %d bytes is used again once it is given back', (bytes, size) => {
  const pool = new ChunkPool();
  const [first, second] = [pool.take(bytes), pool.take(bytes)];
  expect([first.length, second.length]).toEqual([size, size]);
  expect(second.buffer).not.toBe(first.buffer);
  pool.give(first.subarray(0, bytes));
  expect(pool.take(bytes).buffer).toBe(first.buffer);
});

test.each([4_095, 256 * 1024 + 1])('memory for %d bytes is not kept', (bytes) => {
  const pool = new ChunkPool();
  const first = pool.take(bytes);
  expect(first.length).toBe(bytes);
  pool.give(first);
  expect(pool.take(bytes)).not.toBe(first);
});

test('no more than a MiB of each size is kept', () => {
  const pool = new ChunkPool();
  const taken = Array.from({ length: 6 }, () => pool.take(256 * 1024));
  for (const one of taken) pool.give(one);
  const again = new Set(Array.from({ length: 6 }, () => pool.take(256 * 1024).buffer));
  expect(taken.filter(({ buffer }) => again.has(buffer))).toHaveLength(4);
});
