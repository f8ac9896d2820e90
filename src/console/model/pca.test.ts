import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inChunks } from './in-chunks.js';
import { principalAxes, project, type Projection } from './pca.js';

function axesOf(rows: readonly (readonly number[])[]): Projection {
  const steps = principalAxes(rows.map((row) => Float32Array.from(row)));
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? NaN), 0);
}

/** Points on an ellipse in a plane of five dimensions: 3 long one way, 1 the other. */
const U = [0.5, 0.5, 0.5, 0.5, 0];
const V = [0.5, -0.5, 0.5, -0.5, 0];
const ELLIPSE = Array.from({ length: 40 }, (_, at) => {
  const angle = (at / 40) * 2 * Math.PI;
  const [a, b] = [3 * Math.cos(angle), Math.sin(angle)];
  return U.map((value, i) => a * value + b * (V[i] ?? 0) + i);
});

describe('the principal axes', () => {
  test('are those along which the vectors spread most, the longest first', () => {
    const { axes, share, mean } = axesOf(ELLIPSE);
    expect(Math.abs(dot(axes[0], Float64Array.from(U)))).toBeCloseTo(1, 4);
    expect(Math.abs(dot(axes[1], Float64Array.from(V)))).toBeCloseTo(1, 4);
    expect(share).toBeCloseTo(1, 6);
    for (const [at, value] of mean.entries()) expect(value).toBeCloseTo(at, 5);
  });

  test('tell the share of the variance that they show', () => {
    // A spread of 4, 2 and 1 along the three axes of the space.
    const rows = [4, 2, 1].flatMap((length, at) =>
      [length, -length].map((value) => [0, 0, 0].with(at, value)),
    );
    expect(axesOf(rows).share).toBeCloseTo((16 + 4) / (16 + 4 + 1), 3);
  });

  test('are at right angles and of length 1, whatever the vectors', () => {
    const value = fc.double({ min: -1e3, max: 1e3, noNaN: true });
    const rows = fc.array(fc.tuple(value, value, value, value), { minLength: 3, maxLength: 30 });
    fc.assert(
      fc.property(rows, (vectors) => {
        const { axes, share } = axesOf(vectors);
        expect(Math.abs(dot(axes[0], axes[1]))).toBeLessThan(1e-6);
        for (const axis of axes) {
          const length = dot(axis, axis);
          expect(Math.min(Math.abs(length), Math.abs(length - 1))).toBeLessThan(1e-6);
        }
        expect(share).toBeGreaterThanOrEqual(0);
        expect(share).toBeLessThanOrEqual(1);
      }),
    );
  });

  test.each([
    ['one vector', [[1, 2, 3]]],
    ['equal vectors', Array.from({ length: 5 }, () => [1, 2, 3])],
    ['vectors of one number', [[1], [2], [4]]],
    ['no vectors', []],
  ])('of %s are finite', (_, rows) => {
    const projection = axesOf(rows);
    for (const row of rows) {
      const [x, y] = project(projection, Float32Array.from(row));
      expect(Number.isFinite(x) && Number.isFinite(y)).toBe(true);
    }
  });
});

test('a projection keeps the distances of vectors that lie in a plane', () => {
  const projection = axesOf(ELLIPSE);
  const [a, b] = [ELLIPSE[3] ?? [], ELLIPSE[17] ?? []];
  const [p, q] = [a, b].map((row) => project(projection, Float32Array.from(row)));
  const distance = Math.hypot(...a.map((value, at) => value - (b[at] ?? 0)));
  expect(Math.hypot((p?.[0] ?? 0) - (q?.[0] ?? 0), (p?.[1] ?? 0) - (q?.[1] ?? 0))).toBeCloseTo(
    distance,
    3,
  );
});

describe('steps in chunks', () => {
  test('come to their result, and give others their turn', async () => {
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    const untilMs = performance.now() + 60;
    function* steps(): Generator<void, string> {
      while (performance.now() < untilMs) yield;
      return 'done';
    }
    expect(await inChunks(steps(), new AbortController().signal)).toBe('done');
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
  });

  test('end when they are given up', async () => {
    function* steps(): Generator<void, never> {
      for (;;) yield;
    }
    await expect(inChunks(steps(), AbortSignal.timeout(20))).rejects.toThrow('timeout');
  });
});
