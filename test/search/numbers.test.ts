import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  openClients,
  SIMILARITIES,
  type VectorClient,
  type SimilarityName,
} from '../support/clients.js';
import { startServer, type TestServer } from '../support/server.js';
import { textPoint } from './points.js';

const ALL = 1_000;
/** The largest f32, and the smallest above 0. */
const LARGEST = 3.4028234663852886e38;
const SMALLEST = 2 ** -149;

let server: TestServer;
let clients: readonly [VectorClient, VectorClient];

beforeAll(async () => {
  server = await startServer({ dimension: 2 });
  clients = openClients(server);
});

afterEach(async () => {
  const [, grpc] = clients;
  const ids = await grpc.search({ vector: [0, 0], similarity: 'Euclidean', limit: ALL });
  await Promise.all(ids.map((id) => grpc.delete(id)));
});

afterAll(async () => {
  for (const client of clients) client.close();
});

/** Stores the vectors and expects them in this order under one similarity. */
async function expectOrder(
  similarity: SimilarityName,
  query: readonly number[],
  vectors: readonly (readonly number[])[],
): Promise<void> {
  // Stored from the last to the first, so that no order comes from the insertion.
  const ids = await clients[0].insertBatch(vectors.toReversed().map(textPoint));
  const expected = ids.toReversed();
  for (const client of clients) {
    expect(await client.search({ vector: query, similarity, limit: ALL })).toEqual(expected);
    for (const [place, id] of expected.entries()) {
      expect((await client.get(id)).vector).toEqual(vectors[place]?.map(Math.fround));
    }
  }
}

test('huge values are ordered by Euclidean distance, though their squares overflow f32', () =>
  expectOrder(
    'Euclidean',
    [0, 0],
    [
      [1, 0],
      [1e19, 0],
      [1e38, 0],
      [1e38, 1e38],
      [2e38, 0],
      [LARGEST, 0],
      [LARGEST, LARGEST],
    ],
  ));

test('huge values are ordered by Manhattan distance, though their sums overflow f32', () =>
  expectOrder(
    'Manhattan',
    [-LARGEST, -LARGEST],
    [
      [-LARGEST, -LARGEST],
      [-LARGEST, 0],
      [0, 1e37],
      [1e38, 1e38],
      [LARGEST, 2e38],
      [LARGEST, LARGEST],
    ],
  ));

test.each(['Euclidean', 'Manhattan'] as const)('subnormal values are ordered by %s', (similarity) =>
  expectOrder(
    similarity,
    [0, 0],
    [
      [0, SMALLEST],
      [2 * SMALLEST, 0],
      [0, 10 * SMALLEST],
      [1e-40, 0],
      [-1e-38, 0],
      [1e-30, 0],
    ],
  ),
);

test('huge, tiny and ordinary vectors have their angles', () =>
  expectOrder(
    'Cosine',
    [1, 0],
    [
      [LARGEST, 1e30],
      [1e-40, 1e-42],
      [3, 1],
      [1e38, 1e38],
      [SMALLEST, 3 * SMALLEST],
      [0, 1],
      [-1e38, 1e38],
      [-1, 0],
    ],
  ));

test.each([
  ['huge', [LARGEST, -1e38]],
  ['subnormal', [-SMALLEST, 1e-40]],
])('a %s query finds its own vector first under every similarity', async (_, vector) => {
  const others = [
    [1, 1],
    [0, 0],
    [1e38, 1e38],
    [1e-40, 1e-40],
  ];
  const ids = await clients[1].insertBatch([...others, vector].map(textPoint));
  for (const similarity of SIMILARITIES) {
    for (const client of clients) {
      const results = await client.search({ vector, similarity, limit: ALL });
      expect(results[0], similarity).toBe(ids.at(-1));
      expect(results.toSorted()).toEqual(ids.toSorted());
    }
  }
});

test('a zero vector is at distance 1 from everything under Cosine, as is a zero query', async () => {
  const vectors = [
    [0, 0],
    [-1, 0],
    [1, 0],
    [0, 1],
    [-0, 0],
    [0.5, -1e-3],
  ];
  const ids = await clients[0].insertBatch(vectors.map(textPoint));
  const inOrder = (places: readonly number[]) => places.map((place) => ids[place]);
  for (const client of clients) {
    const search = (vector: number[]) =>
      client.search({ vector, similarity: 'Cosine', limit: ALL });
    // The zero vectors tie with the one at a right angle.
    expect(await search([1, 0])).toEqual(inOrder([2, 5, 0, 3, 4, 1]));
    expect(await search([0, -0])).toEqual(ids);
  }
});

test('under Hamming 0 equals -0 and any other difference counts the same', async () => {
  const vectors = [
    [1e-45, LARGEST],
    [0, 1],
    [-0, 0],
    [0, -0],
    [1, -0],
  ];
  const ids = await clients[1].insertBatch(vectors.map(textPoint));
  const expected = [2, 3, 1, 4, 0].map((place) => ids[place]);
  for (const client of clients) {
    for (const vector of [
      [0, 0],
      [-0, -0],
      [-0, 0],
    ]) {
      expect(await client.search({ vector, similarity: 'Hamming', limit: ALL })).toEqual(expected);
    }
  }
});

test.each(SIMILARITIES)('%s orders hundreds of equal vectors by insertion', async (similarity) => {
  const [http, grpc] = clients;
  const equal = Array.from({ length: 300 }, () => textPoint([0.1, -7.7]));
  const ids = [...(await http.insertBatch(equal)), ...(await grpc.insertBatch(equal))];
  await http.delete(ids[0] ?? '');
  await grpc.delete(ids[299] ?? '');
  const left = ids.filter((_, index) => index !== 0 && index !== 299);
  for (const client of clients) {
    for (const limit of [1, 10, 299, ALL]) {
      const results = await client.search({ vector: [0.1, -7.6], similarity, limit });
      expect(results).toEqual(left.slice(0, limit));
    }
  }
});
