import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { linePath, linear, ticks } from './scale.js';

describe('ticks', () => {
  test.each([
    [10, 4, [0, 5, 10]],
    [7, 4, [0, 2, 4, 6, 8]],
    [0.003, 3, [0, 0.001, 0.002, 0.003]],
    [1, 4, [0, 0.5, 1]],
    [1200, 4, [0, 500, 1000, 1500]],
    [0, 4, [0, 1]],
    [NaN, 4, [0, 1]],
  ])('up to %d are round', (most, count, expected) => {
    const found = ticks(most, count);
    expect(found).toHaveLength(expected.length);
    for (const [at, value] of found.entries()) expect(value).toBeCloseTo(expected[at] ?? NaN, 12);
  });

  test('of bytes are multiples of powers of 1,024', () => {
    const mib = 1024 * 1024;
    expect(ticks(170 * mib, 4, 1024)).toEqual([0, 50 * mib, 100 * mib, 150 * mib, 200 * mib]);
    expect(ticks(3, 3, 1024)).toEqual([0, 1, 2, 3]);
  });

  test('begin at 0, reach the greatest value, and are few', () => {
    const most = fc.double({ min: 1e-9, max: 1e15, noNaN: true });
    fc.assert(
      fc.property(most, fc.constantFrom(10 as const, 1024 as const), (value, base) => {
        const found = ticks(value, 4, base);
        expect(found[0]).toBe(0);
        expect(found.at(-1)).toBeGreaterThanOrEqual(value * (1 - 1e-6));
        expect(found.length).toBeGreaterThanOrEqual(2);
        expect(found.length).toBeLessThanOrEqual(6);
      }),
    );
  });
});

test('a scale maps a range to pixels, and a range of nothing to its start', () => {
  const y = linear([0, 10], [100, 0]);
  expect([y(0), y(5), y(10)]).toEqual([100, 50, 0]);
  expect(linear([3, 3], [0, 50])(3)).toBe(0);
});

test('a line has a gap where a value is missing', () => {
  const same = (value: number): number => value;
  const path = linePath([0, 1, 2, 3, 4], [undefined, 1, 2.04, undefined, 4], same, same);
  expect(path).toBe('M1 1L2 2M4 4');
});
