import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Random } from '../support/random.js';
import { startServer, type TestServer } from '../support/server.js';
import { Client } from './client.js';

const DIMENSION = 8;
const POINTS = 400;
const FAR_ABOVE = '18446744073709551615';

type Vector = readonly number[];

/** As the specification defines them, in doubles. */
const DISTANCES: Readonly<Record<string, (a: Vector, b: Vector) => number>> = {
  Euclidean: (a, b) => Math.sqrt(sum(a, (value, index) => (value - at(b, index)) ** 2)),
  Manhattan: (a, b) => sum(a, (value, index) => Math.abs(value - at(b, index))),
  Hamming: (a, b) => sum(a, (value, index) => (value === at(b, index) ? 0 : 1)),
  Cosine(a, b) {
    const norms = Math.hypot(...a) * Math.hypot(...b);
    return norms === 0 ? 1 : 1 - sum(a, (value, index) => value * at(b, index)) / norms;
  },
};

const random = new Random(32);

let server: TestServer;
let client: Client;
let ids: string[];

/** Small integers, so that there are ties and every sum is exact. */
const vectors: Vector[] = Array.from({ length: POINTS }, randomVector);
const zero: Vector = Array.from({ length: DIMENSION }, () => 0);
vectors[7] = zero;

beforeAll(async () => {
  server = await startServer({ dimension: DIMENSION });
  client = new Client(server, server.keys.readwrite);
  ids = await client.insertAll(vectors);
});

afterAll(async () => {
  await server.stop();
});

describe.each(Object.entries(DISTANCES))('%s', (similarity, distance) => {
  it('gives the nearest points, closest first, as brute force does', async () => {
    for (let times = 0; times < 20; times += 1) {
      const query = randomVector();
      const results = await client.search(query, similarity, 25, POINTS);
      const distances = results.map((id) => distance(query, at(vectors, ids.indexOf(id))));
      const expected = vectors
        .map((vector) => distance(query, vector))
        .toSorted((a, b) => a - b)
        .slice(0, 25);
      expect(new Set(results).size).toBe(25);
      distances.forEach((value, index) => expect(value).toBeCloseTo(at(expected, index), 5));
    }
  });

  it('measures a zero vector like every other', async () => {
    const results = await client.search(zero, similarity, POINTS);
    const distances = results.map((id) => distance(zero, at(vectors, ids.indexOf(id))));
    expect(results).toHaveLength(POINTS);
    expect(distances).toEqual(distances.toSorted((a, b) => a - b));
  });

  it('orders points at the same distance by insertion', async () => {
    const twins = await client.insertAll(Array.from({ length: 30 }, () => vectors[3] ?? []));
    const results = await client.search(vectors[3] ?? [], similarity, POINTS + 30);
    const found = results.filter((id) => twins.includes(id));
    expect(found).toEqual(twins);
    for (const id of twins) await client.delete(`/points/${id}`);
  });
});

it('0 and -0 are equal under Hamming', async () => {
  const query = [...(vectors[7] ?? [])].map(() => '-0.0').join(',');
  const answer = await client.post(
    '/points/search',
    `{"vector":[${query}],"similarity":"Hamming","limit":1}`,
  );
  expect(answer.json).toEqual({ results: [ids[7]] });
});

it('each search is answered under the similarity it names, whatever was asked before', async () => {
  const query = randomVector();
  const names = Object.keys(DISTANCES);
  const ask = async (name: string): Promise<string[]> => await client.search(query, name, POINTS);
  const first = await Promise.all(names.map(ask));
  for (const index of [3, 1, 2, 0, 2, 3]) {
    expect(await ask(at(names, index))).toEqual(first[index]);
  }
});

describe('the limit', () => {
  it('bounds the results', async () => {
    for (const limit of [1, 2, 10, POINTS - 1, POINTS]) {
      expect(await client.search(randomVector(), 'Euclidean', limit)).toHaveLength(limit);
    }
  });

  it.each(['401', '1e3', '4294967296', '9007199254740993', FAR_ABOVE, '1e300'])(
    'above the number of points gives all of them: %s',
    async (limit) => {
      const answer = await client.post(
        '/points/search',
        `{"vector":${JSON.stringify(randomVector())},"similarity":"Cosine","limit":${limit}}`,
      );
      expect(answer.status).toBe(200);
      expect((answer.json as { results: string[] }).results.toSorted()).toEqual(ids.toSorted());
    },
  );

  it.each([0, -1, 1.5, '1', null])('%j is 400', async (limit) => {
    const body = { vector: randomVector(), similarity: 'Cosine', limit };
    const answer = await client.post('/points/search', body);
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(/^limit is /);
  });
});

describe('ef', () => {
  it.each([0, 1, 5, 400, 100_000])('%d is accepted and never gives fewer results', async (ef) => {
    expect(await client.search(randomVector(), 'Euclidean', 50, ef)).toHaveLength(50);
  });

  it.each([-1, 1.5, '10', null])('%j is 400', async (ef) => {
    const body = { vector: randomVector(), similarity: 'Cosine', limit: 1, ef };
    for (const [path, sent] of [
      ['/points/search', body],
      ['/points/search/batch', { queries: [body] }],
    ] as const) {
      const answer = await client.post(path, sent);
      expect(answer.status).toBe(400);
      expect(answer.text).toContain('ef is ');
    }
  });
});

describe('POST /points/search', () => {
  it('answers 200 with the ids and nothing else', async () => {
    const answer = await client.post('/points/search', {
      vector: vectors[5],
      similarity: 'Manhattan',
      limit: 1,
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(Object.keys(answer.json as object)).toEqual(['results']);
  });

  it.each([
    [{ vector: [1] }, 'vector has 1 dimensions, this service stores 8'],
    [{ vector: [] }, 'vector has 0 dimensions, this service stores 8'],
    [{ vector: undefined }, 'vector is missing'],
    [{ vector: [1, 2, 3, 4, 5, 6, 7, 1e39] }, 'vector[7] is 1e+39'],
    [{ similarity: undefined }, 'similarity is missing'],
    [{ similarity: 'euclidean' }, 'similarity is "euclidean", expected "Euclidean"'],
    [{ similarity: '__proto__' }, 'similarity is "__proto__"'],
    [{ similarity: 0 }, 'similarity is 0'],
    [{ limit: undefined }, 'limit is missing'],
  ])('is 400 with %j, also in a batch', async (change, message) => {
    const query = { vector: vectors[0], similarity: 'Cosine', limit: 1, ...change };
    const single = await client.post('/points/search', query);
    expect(single.status).toBe(400);
    expect(single.text).toContain(message);

    const good = { vector: vectors[0], similarity: 'Cosine', limit: 1 };
    const batch = await client.post('/points/search/batch', { queries: [good, query] });
    expect(batch.status).toBe(400);
    expect(batch.text).toMatch(/^queries\[1\]/);
    expect(batch.text).toContain(message);
  });
});

describe('POST /points/search/batch', () => {
  it('answers one list per query, in query order, each like a single search', async () => {
    const queries = Object.keys(DISTANCES).flatMap((similarity) =>
      [1, 7].map((limit) => ({ vector: randomVector(), similarity, limit, ef: POINTS })),
    );
    const answer = await client.post('/points/search/batch', { queries });
    expect(answer.status).toBe(200);
    const { results } = answer.json as { results: string[][] };
    const singles = await Promise.all(
      queries.map(({ vector, similarity, limit, ef }) =>
        client.search(vector, similarity, limit, ef),
      ),
    );
    expect(results).toEqual(singles);
  });

  it('accepts an empty batch', async () => {
    const answer = await client.post('/points/search/batch', { queries: [] });
    expect([answer.status, answer.json]).toEqual([200, { results: [] }]);
  });
});

it('an empty store has no results', async () => {
  const empty = await startServer();
  const reader = new Client(empty, empty.keys.readonly);
  for (const similarity of Object.keys(DISTANCES)) {
    expect(await reader.search([1, 2, 3, 4], similarity, 10)).toEqual([]);
  }
  expect(await empty.stop()).toBe(0);
});

it('deletes never make a search give fewer than min(limit, points) results', async () => {
  const dense = await startServer();
  const writer = new Client(dense, dense.keys.readwrite);
  const all = await writer.insertAll(Array.from({ length: 60 }, (_, value) => [value, 0, 0, 0]));
  for (const id of all.slice(0, 50)) await writer.delete(`/points/${id}`);
  expect(await writer.search([0, 0, 0, 0], 'Euclidean', 5, 1)).toEqual(all.slice(50, 55));
  expect(await writer.search([0, 0, 0, 0], 'Euclidean', 100)).toEqual(all.slice(50));
  await dense.stop();
});

function randomVector(): number[] {
  return random.wholeVector(DIMENSION, -3, 3);
}

function sum(values: Vector, term: (value: number, index: number) => number): number {
  return values.reduce((total, value, index) => total + term(value, index), 0);
}

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new Error(`there is no item ${index}`);
  return item;
}
