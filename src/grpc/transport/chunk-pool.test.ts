import { expect, onTestFinished, test } from 'vitest';
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

test.each([16 * 1024, 64 * 1024, 256 * 1024])(
  'memory of a pool of %d bytes, which Node.js shares out, is never used',
  (size) => {
    const before = Buffer.poolSize;
    onTestFinished(() => void (Buffer.poolSize = before));
    Buffer.poolSize = size;
    // The first ones are left of the pool before.
    const shared = Array.from({ length: 50 }, () => Buffer.allocUnsafe(size / 4));
    expect(shared.some(({ buffer }) => buffer.byteLength === size)).toBe(true);
    const pool = new ChunkPool();
    for (const one of shared) pool.give(one);
    const others = new Set<ArrayBufferLike>(shared.map(({ buffer }) => buffer));
    expect(others.has(pool.take(size).buffer)).toBe(false);
  },
);
