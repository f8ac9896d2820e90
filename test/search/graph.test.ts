import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  openClients,
  SIMILARITIES,
  type VectorClient,
  type SimilarityName,
  type TestQuery,
} from '../support/clients.js';
import { forEachParallel } from '../support/parallel.js';
import { Random } from '../support/random.js';
import { distance, rankAll, recall, type Ranked } from '../support/reference.js';
import { startServer, type TestServer } from '../support/server.js';
import { textPoint } from './points.js';

/** Enough for graphs to take over, under every similarity, from scans. */
const COUNT = 12_000;
const DIMENSION = 24;
const QUERIES = 40;
const LIMIT = 10;
const TIMEOUT_MS = 60_000;

const random = new Random(5);

/**
 * Whole numbers around some centres: a set in which all four similarities mean something, with
 * many ties.
 */
const centres = Array.from({ length: 150 }, () => random.wholeVector(DIMENSION, -9, 9));
const vectors = Array.from({ length: COUNT }, clusteredVector);
const queries = Array.from({ length: QUERIES }, clusteredVector);

let server: TestServer;
let clients: readonly [VectorClient, VectorClient];
/** The place of each stored point in `vectors`. */
const places = new Map<string, number>();
const truths = new Map<SimilarityName, readonly (readonly Ranked[])[]>();

beforeAll(async () => {
  server = await startServer({ dimension: DIMENSION });
  await open();
  // Some points before any graph, the rest while the graphs are built.
  await insert(0, COUNT / 2);
  await askAll(LIMIT);
  await insert(COUNT / 2, COUNT);
}, TIMEOUT_MS);

afterAll(async () => {
  for (const client of clients) client.close();
});

describe.each(SIMILARITIES)('%s', (similarity) => {
  test(
    'finds at least 95 % of the true neighbours, from the first search on',
    async () => {
      // Scans at first, then graphs as they grow, then graphs that are complete.
      const endMs = performance.now() + 1_000;
      for (let times = 0; times < 3 || performance.now() < endMs; times += 1) {
        expect(await meanRecall(similarity)).toBeGreaterThanOrEqual(0.95);
      }
    },
    TIMEOUT_MS,
  );

  test('is exact where ef is the number of points', async () => {
    expect(await meanRecall(similarity, COUNT)).toBe(1);
  });

  test('finds no less with a larger ef, and no fewer than limit with the smallest', async () => {
    const recalls: number[] = [];
    for (const ef of [1, 40, 250]) {
      recalls.push(await meanRecall(similarity, ef));
    }
    for (const [index, value] of recalls.entries()) {
      expect(value, `of ${recalls.join(', ')}`).toBeGreaterThanOrEqual(
        (recalls[index - 1] ?? 0) - 0.01,
      );
    }
  });

  test('answers a limit above the number of points with all of them', async () => {
    for (const client of clients) {
      const results = await client.search({ ...first(similarity), limit: COUNT + 1 });
      expect(new Set(results).size).toBe(COUNT);
    }
  });

  test(
    'is answered alike on both interfaces, one by one and in a batch, once the graph is there',
    async () => {
      const asked = queries.map((vector) => ({ vector, similarity, limit: LIMIT }));
      const [http, grpc] = clients;
      await expect
        .poll(
          async () => {
            const batches = [await http.searchBatch(asked), await grpc.searchBatch(asked)];
            const singles = await Promise.all(asked.map((query) => http.search(query)));
            return [...batches, singles].every((answer) => equal(answer, singles));
          },
          { timeout: TIMEOUT_MS / 2 },
        )
        .toBe(true);
    },
    TIMEOUT_MS,
  );
});

test(
  'a restart under other graph settings builds the graphs anew, says so, and keeps the recall',
  async () => {
    for (const client of clients) client.close();
    expect(await server.stop()).toBe(0);
    // Kept warm, for so few points a scan may be the cheaper way and begin no graph.
    const env = {
      HNSW_M: '12',
      HNSW_EF_CONSTRUCTION: '120',
      WARM_METRICS: 'euclidean,hamming,cosine',
    };
    server = await startServer({ dimension: DIMENSION, dataPath: server.dataPath, env });
    await open();
    for (let times = 0; times < 3; times += 1) {
      for (const similarity of SIMILARITIES) {
        expect(await meanRecall(similarity)).toBeGreaterThanOrEqual(0.95);
      }
    }
    for (const graph of ['Euclidean', 'Hamming', 'Cosine']) {
      const begun = `"graph":"${graph}","points":${COUNT},"hnswM":12,"hnswEfConstruction":120`;
      await expect.poll(server.log, { timeout: TIMEOUT_MS / 4 }).toContain(begun);
      await expect
        .poll(server.log, { timeout: TIMEOUT_MS / 4 })
        .toContain(`"graph":"${graph}","points":${COUNT},"msg":"the graph is built"`);
    }
  },
  TIMEOUT_MS,
);

test.each([50, 90])(
  'with %d percent deleted a search gives min(limit, points) of what is left, and recall stays',
  async (percent) => {
    await deleteDownTo((COUNT * (100 - percent)) / 100);
    const left = places.size;
    for (const similarity of SIMILARITIES) {
      for (const limit of [1, LIMIT, left - 1, left, COUNT]) {
        for (const client of clients) {
          const results = await client.search({ ...first(similarity), limit, ef: 1 });
          expect(results).toHaveLength(Math.min(limit, left));
          expect(new Set(results).size).toBe(results.length);
          expect(results.filter((id) => !places.has(id))).toEqual([]);
        }
      }
      expect(await meanRecall(similarity)).toBeGreaterThanOrEqual(0.95);
    }
  },
  TIMEOUT_MS,
);

function clusteredVector(): number[] {
  return random.pick(centres).map((value) => {
    const dice = random.next();
    if (dice < 0.15) return -9 + random.below(19);
    return dice < 0.5 ? value : value + random.pick([-2, -1, 1, 2]);
  });
}

async function open(): Promise<void> {
  clients = openClients(server);
}

async function insert(from: number, to: number): Promise<void> {
  const step = 1000;
  for (let start = from; start < to; start += step) {
    const points = vectors.slice(start, start + step).map(textPoint);
    const client = clients[(start / step) % 2] ?? clients[0];
    const ids = await client.insertBatch(points);
    ids.forEach((id, index) => places.set(id, start + index));
  }
}

async function deleteDownTo(count: number): Promise<void> {
  const ids = [...places.keys()];
  const leaving = new Set<string>();
  while (leaving.size < ids.length - count) leaving.add(random.pick(ids));
  const [, grpc] = clients;
  await forEachParallel([...leaving], 200, async (id) => {
    await grpc.delete(id);
    places.delete(id);
  });
  truths.clear();
}

function first(similarity: SimilarityName): TestQuery {
  return { vector: queries[0] ?? [], similarity, limit: LIMIT };
}

/** Asks for every similarity, so that each has its graph begun. */
async function askAll(limit: number): Promise<void> {
  for (const similarity of SIMILARITIES) await clients[0].search({ ...first(similarity), limit });
}

/** The mean over all queries, asked on both interfaces in turn. */
async function meanRecall(similarity: SimilarityName, ef = 0): Promise<number> {
  let total = 0;
  await forEachParallel(queries, 4, async (vector, index) => {
    const client = clients[index % 2] ?? clients[0];
    const results = await client.search({ vector, similarity, limit: LIMIT, ef });
    expect(new Set(results).size).toBe(LIMIT);
    const distances = results.map((id) => {
      const place = places.get(id);
      if (place === undefined) throw new Error(`${id} is not a stored point`);
      return distance(similarity, vector, vectors[place] ?? []);
    });
    expect(distances).toEqual(distances.toSorted((a, b) => a - b));
    total += recall(distances, truthsOf(similarity)[index] ?? []);
  });
  return total / queries.length;
}

/** The true neighbours of each query, kept until points are deleted. */
function truthsOf(similarity: SimilarityName): readonly (readonly Ranked[])[] {
  let known = truths.get(similarity);
  if (known === undefined) {
    const stored = [...places.values()].map((place) => vectors[place] ?? []);
    known = queries.map((query) => rankAll(similarity, query, stored).slice(0, LIMIT));
    truths.set(similarity, known);
  }
  return known;
}

function equal(a: readonly string[][], b: readonly string[][]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
