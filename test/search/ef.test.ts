import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HardPoints, inABatch, NARROW, oneByOne, WIDE } from '../support/hard-points.js';

let points: HardPoints;

beforeAll(async () => {
  points = await HardPoints.start();
}, 60_000);

afterAll(async () => {
  expect(await points.stop()).toBe(0);
});

describe.each([
  ['HTTP', 0],
  ['gRPC', 1],
] as const)('over %s', (_, index) => {
  test.each([
    ['one by one', oneByOne],
    ['in a batch', inABatch],
  ])('a narrow search misses what a wide one finds, %s', async (_name, by) => {
    const answer = by(points.clients[index]);
    expect(await points.recall(answer, NARROW.ef)).toBeLessThan(NARROW.mostRecall);
    expect(await points.recall(answer, WIDE.ef)).toBeGreaterThan(WIDE.leastRecall);
  });
});
