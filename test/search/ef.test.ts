import { beforeAll, describe, expect, test, vi } from 'vitest';
import { HardPoints, inABatch, NARROW, oneByOne, WIDE } from '../support/hard-points.js';

const INTERFACES = [
  ['HTTP', 0],
  ['gRPC', 1],
] as const;
const LIMIT = 20;
const WAYS = [
  ['one by one', oneByOne],
  ['in a batch', inABatch],
] as const;

/** A search is walked or scanned by what either has cost: on a busy machine now this, now that. */
async function eventually(check: () => Promise<void>): Promise<void> {
  await vi.waitFor(check, { timeout: 20_000, interval: 0 });
}

describe.each([
  ['100, where HNSW_EF is not set', {}, 100],
  ['HNSW_EF', { HNSW_EF: '30' }, 30],
])('by default a breadth of %s', (_, env, breadth) => {
  let points: HardPoints;

  beforeAll(async () => {
    points = await HardPoints.start(env);
  }, 60_000);

  describe.each(INTERFACES)('over %s', (_interface, index) => {
    // A scan would miss nothing, however narrow the search is.
    test.each(WAYS)('a narrow search misses what a wide one finds, %s', async (_way, by) => {
      const answer = by(points.clients[index]);
      await eventually(async () => {
        expect(await points.recall(answer, NARROW.ef)).toBeLessThan(NARROW.mostRecall);
        expect(await points.recall(answer, WIDE.ef)).toBeGreaterThan(WIDE.leastRecall);
      });
    });

    test.each(WAYS)(
      'a search without ef finds what one of that breadth does, %s',
      async (_way, by) => {
        const answer = by(points.clients[index]);
        await eventually(async () => {
          const found = await points.search(answer);
          expect(found).toEqual(await points.search(answer, breadth));
          expect(found).not.toEqual(await points.search(answer, NARROW.ef));
        });
      },
    );

    // Not so in a batch, which is scanned where that is cheaper than many walks.
    test('nor less, nor more, one by one', async () => {
      const answer = oneByOne(points.clients[index]);
      const found = await points.search(answer);
      expect(found).not.toEqual(await points.search(answer, breadth / 2));
      expect(found).not.toEqual(await points.search(answer, breadth * 2));
    });

    test.each(WAYS)('an ef below limit finds what one of limit does, %s', async (_way, by) => {
      const answer = by(points.clients[index]);
      await eventually(async () => {
        const found = await points.search(answer, 1, LIMIT);
        expect(found).toEqual(await points.search(answer, LIMIT, LIMIT));
        expect(found).not.toEqual(await points.search(answer, WIDE.ef, LIMIT));
      });
    });
  });
});
