import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import type { Client } from '../../src/client/interface.js';
import { open as openFolder } from '../../src/embedded/open.js';
import { open, PROTOCOLS } from '../client/open.js';
import { HardPoints, inABatch, oneByOne, type Answer } from '../support/hard-points.js';

const HNSW_EF = 30;
/** Twice as many are more than HNSW_EF. */
const LIMIT = 25;
/** Twice as many are less. */
const SMALL_LIMIT = 10;

let points: HardPoints;

beforeAll(async () => {
  points = await HardPoints.start({ HNSW_EF: String(HNSW_EF) });
}, 60_000);

function answersOf(client: Pick<Client, 'search' | 'searchAll'>): readonly Answer[] {
  const idsOf = (found: Awaited<ReturnType<Client['search']>>) => found.map(({ id }) => id);
  return [
    async (asked) =>
      await Promise.all(asked.map(async (query) => idsOf(await client.search(query)))),
    async (asked) => (await client.searchAll(asked)).map(idsOf),
  ];
}

/** The share of the neighbours that a scan finds. */
function recall(found: readonly string[][], exact: readonly string[][]): number {
  const shares = exact.map((ids, at) => {
    const right = new Set(ids);
    return (found[at] ?? []).filter((id) => right.has(id)).length / ids.length;
  });
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

async function expectTwiceTheLimit(answer: Answer): Promise<void> {
  const found = await points.search(answer, undefined, LIMIT);
  expect(found).toEqual(await points.search(answer, 2 * LIMIT, LIMIT));
  const exact = await points.search(answer, 1_000_000, LIMIT);
  const narrow = await points.search(answer, LIMIT, LIMIT);
  // What is measured: 0.65 instead of 0.43.
  expect(recall(found, exact)).toBeGreaterThan(recall(narrow, exact) + 0.1);
}

async function expectHnswEf(answer: Answer): Promise<void> {
  const found = await points.search(answer, undefined, SMALL_LIMIT);
  expect(found).toEqual(await points.search(answer, HNSW_EF, SMALL_LIMIT));
  expect(found).not.toEqual(await points.search(answer, 2 * SMALL_LIMIT, SMALL_LIMIT));
  expect(found).toEqual(await points.search(answer, 0, SMALL_LIMIT));
}

test.each(PROTOCOLS)(
  'a search over %s without ef is twice as broad as its limit, at least HNSW_EF',
  async (protocol) => {
    for (const answer of answersOf(open(points.server, protocol))) {
      await expectTwiceTheLimit(answer);
      await expectHnswEf(answer);
    }
  },
);

test('a search of the contract without ef is HNSW_EF broad, at least its limit', async () => {
  for (const client of points.clients) {
    for (const answer of [oneByOne(client), inABatch(client)]) {
      const found = await points.search(answer, undefined, LIMIT);
      expect(found).toEqual(await points.search(answer, HNSW_EF, LIMIT));
      expect(found).not.toEqual(await points.search(answer, 2 * LIMIT, LIMIT));
      const more = await points.search(answer, undefined, 2 * LIMIT);
      expect(more).toEqual(await points.search(answer, 2 * LIMIT, 2 * LIMIT));
      expect(more).not.toEqual(await points.search(answer, 4 * LIMIT, 2 * LIMIT));
    }
  }
});

test('a search in process without ef is as broad as one of the service', async () => {
  expect(await points.server.stop()).toBe(0);
  const { dataPath: path } = points.server;
  const links = { hnswM: 8, hnswEfConstruction: 40, warmMetrics: ['Euclidean'] } as const;
  const client = await openFolder({ path, hnswEf: HNSW_EF, ...links });
  while ((await client.info()).graphs.some(({ slots, linked }) => linked < slots)) await sleep(20);
  for (const answer of answersOf(client)) {
    await expectTwiceTheLimit(answer);
    await expectHnswEf(answer);
  }
  await client.close();
});
