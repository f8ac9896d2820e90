import { beforeAll, describe, expect, it } from 'vitest';
import { SIMILARITIES } from '../support/clients.js';
import { Random } from '../support/random.js';
import { startServer, type TestServer } from '../support/server.js';
import { Client } from './client.js';

const DIMENSION = 8;
const POINTS = 400;
const FAR_ABOVE = '18446744073709551615';

const random = new Random(32);

let server: TestServer;
let client: Client;
let ids: string[];

const vectors = Array.from({ length: POINTS }, randomVector);
vectors[7] = Array.from({ length: DIMENSION }, () => 0);

beforeAll(async () => {
  server = await startServer({ dimension: DIMENSION });
  client = new Client(server, server.keys.readwrite);
  ids = await client.insertAll(vectors);
});

it('0 and -0 are equal under Hamming', async () => {
  const query = Array.from({ length: DIMENSION }, () => '-0.0').join(',');
  const answer = await client.post(
    '/points/search',
    `{"vector":[${query}],"similarity":"Hamming","limit":1}`,
  );
  expect(answer.json).toEqual({ results: [ids[7]] });
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
    [{ similarity: 'toString' }, 'similarity is "toString"'],
    [{ vector: { length: 8 } }, 'vector is an object'],
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
  it('accepts an empty batch', async () => {
    const answer = await client.post('/points/search/batch', { queries: [] });
    expect([answer.status, answer.json]).toEqual([200, { results: [] }]);
  });
});

it('an empty store has no results', async () => {
  const empty = await startServer();
  const reader = new Client(empty, empty.keys.readonly);
  for (const similarity of SIMILARITIES) {
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
