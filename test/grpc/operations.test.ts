import { beforeAll, describe, expect, test } from 'vitest';
import {
  ContentType,
  PointID,
  Similarity,
  type SearchRequest,
} from '../../src/gen/vectordb/vectordb.js';
import { startServer, type TestServer } from '../support/server.js';
import * as wire from '../support/wire.js';
import { connect, RawClient, type VectorDbClient } from './client.js';

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let server: TestServer;
let client: VectorDbClient;

beforeAll(async () => {
  server = await startServer({ dimension: 4 });
  client = connect(server.grpc, server.keys.readwrite);
});

function point(values: number[], content = 'x', contentType = ContentType.Text) {
  return { vector: { values }, payload: { contentType, content } };
}

function query(values: number[], similarity: Similarity, limit: bigint, ef = 0n): SearchRequest {
  return { queryVector: { values }, similarity, limit, ef };
}

/** Stores points and deletes them after the test, so that each searches its own alone. */
async function withPoints(
  points: readonly number[][],
  check: (ids: string[]) => Promise<void>,
): Promise<void> {
  const { ids } = await client.insertVectorsBatch({ vectors: points.map((it) => point(it)) });
  const texts = ids.map(({ id }) => id?.value ?? '');
  try {
    await check(texts);
  } finally {
    await Promise.all(ids.map((id) => client.deletePoint(id)));
  }
}

async function search(request: SearchRequest): Promise<string[]> {
  const { resultPointIds } = await client.searchPoints(request);
  return resultPointIds.map(({ id }) => id?.value ?? '');
}

describe('InsertVector and GetPoint', () => {
  test('InsertVector answers the UUID v4 of the point that it created', async () => {
    const { id } = await client.insertVector(point([1, 2, 3, 4]));
    expect(id?.value).toMatch(UUID_V4);
    await client.deletePoint({ id });
  });

  test('GetPoint answers id, vector and payload of the point', async () => {
    const stored = point([1, -2.5, 3e30, 0.1], 'a text', ContentType.Image);
    const { id } = await client.insertVector(stored);
    const found = await client.getPoint({ id });
    expect(found.id).toEqual({ id });
    expect(found.payload).toEqual(stored.payload);
    expect(found.vector?.values).toEqual(stored.vector.values.map(Math.fround));
    await client.deletePoint({ id });
  });

  test('a payload without content_type is stored as an Image', async () => {
    const raw = new RawClient(server.grpc, server.keys.readwrite);
    const vector = wire.delimited(1, wire.packed([1, 2, 3, 4]));
    const payload = wire.delimited(2, wire.delimited(2, 'a text'));
    const { message } = await raw.call('InsertVector', Buffer.concat([vector, payload]));
    const { id } = PointID.decode(message ?? new Uint8Array());
    const found = await client.getPoint({ id });
    expect(found.payload).toEqual({ contentType: ContentType.Image, content: 'a text' });
    await client.deletePoint({ id });
    raw.close();
  });

  test('vectors come back bit for bit: -0, subnormals and the largest values', async () => {
    const values = [-0, 2 ** -149, -(2 ** -126), 3.4028234663852886e38];
    const { id } = await client.insertVector(point(values));
    const found = await client.getPoint({ id });
    expect(found.vector?.values.map((value) => Object.is(value, -0))).toContain(true);
    expect(found.vector?.values).toEqual(values);
    await client.deletePoint({ id });
  });

  test.each(['', 'Ω≈ç√ 😀', 'a\u0000b\r\n', 'x'.repeat(100_000)])(
    'content comes back byte for byte (%#)',
    async (content) => {
      const { id } = await client.insertVector(point([1, 2, 3, 4], content));
      expect((await client.getPoint({ id })).payload?.content).toBe(content);
      await client.deletePoint({ id });
    },
  );

  test('an id in upper case means the same point', async () => {
    const { id } = await client.insertVector(point([1, 2, 3, 4]));
    const found = await client.getPoint({ id: { value: id?.value.toUpperCase() ?? '' } });
    expect(found.id).toEqual({ id });
    await client.deletePoint({ id });
  });
});

describe('InsertVectorsBatch', () => {
  test('answers the ids in input order', async () => {
    await withPoints(
      [
        [1, 0, 0, 0],
        [2, 0, 0, 0],
        [3, 0, 0, 0],
      ],
      async (ids) => {
        const points = await Promise.all(ids.map((value) => client.getPoint({ id: { value } })));
        expect(points.map(({ vector }) => vector?.values[0])).toEqual([1, 2, 3]);
      },
    );
  });

  test('an empty batch answers an empty list', async () => {
    expect(await client.insertVectorsBatch({ vectors: [] })).toEqual({ ids: [] });
  });
});

describe('DeletePoint', () => {
  test('a deleted point is gone from GetPoint and from search', async () => {
    const { id } = await client.insertVector(point([1, 2, 3, 4]));
    expect(await client.deletePoint({ id })).toEqual({});
    await expect(client.getPoint({ id })).rejects.toThrow('NOT_FOUND: Point not found');
    expect(await search(query([1, 2, 3, 4], Similarity.Euclidean, 10n))).toEqual([]);
  });
});

describe('SearchPoints and SearchPointsBatch', () => {
  const POINTS = [
    [2, 2, 2, 6],
    [3.5, 3.5, 3.5, 3.5],
    [2, 2, 4.5, 4.5],
    [20, 20, 20, 2],
  ];

  // Worked out by hand for the query (2, 2, 2, 2); no two similarities agree.
  test.each([
    ['Euclidean', Similarity.Euclidean, [1, 2, 0, 3]],
    ['Manhattan', Similarity.Manhattan, [0, 2, 1, 3]],
    ['Hamming', Similarity.Hamming, [0, 2, 3, 1]],
    ['Cosine', Similarity.Cosine, [1, 2, 3, 0]],
  ] as const)('SearchPoints answers the ids closest first under %s', async (_, metric, order) => {
    await withPoints(POINTS, async (ids) => {
      expect(await search(query([2, 2, 2, 2], metric, 10n))).toEqual(order.map((at) => ids[at]));
    });
  });

  test('limit is the greatest number of results', async () => {
    await withPoints(POINTS, async (ids) => {
      expect(await search(query([2, 2, 2, 2], Similarity.Euclidean, 2n))).toEqual(ids.slice(1, 3));
    });
  });

  test('a limit above the number of points, up to 2^64 - 1, answers all of them', async () => {
    await withPoints(POINTS, async (ids) => {
      const found = await search(query([0, 0, 0, 0], Similarity.Euclidean, 2n ** 64n - 1n));
      expect(found.toSorted()).toEqual(ids.toSorted());
    });
  });

  test.each([0n, 1n, 1_000n, 2n ** 64n - 1n])('ef of %d is taken', async (ef) => {
    await withPoints(POINTS, async (ids) => {
      expect(await search(query([1, 1, 1, 1], Similarity.Euclidean, 4n, ef))).toHaveLength(
        ids.length,
      );
    });
  });

  test('SearchPointsBatch answers one response per query, in query order', async () => {
    await withPoints(POINTS, async (ids) => {
      const queries = [
        query([20, 20, 20, 2], Similarity.Euclidean, 1n),
        query([2, 2, 2, 6], Similarity.Manhattan, 1n),
        query([1, 1, 1, 1], Similarity.Cosine, 2n),
      ];
      const { results } = await client.searchPointsBatch({ queries });
      const found = results.map(({ resultPointIds }) => resultPointIds.map(({ id }) => id?.value));
      expect(found).toEqual([[ids[3]], [ids[0]], [ids[1], ids[2]]]);
    });
  });

  test('an empty batch of queries answers an empty list', async () => {
    expect(await client.searchPointsBatch({ queries: [] })).toEqual({ results: [] });
  });

  test('a search in an empty store answers no ids', async () => {
    expect(await search(query([1, 2, 3, 4], Similarity.Hamming, 5n))).toEqual([]);
  });
});

test('a readonly key may get and search', async () => {
  const reader = connect(server.grpc, server.keys.readonly);
  const { id } = await client.insertVector(point([1, 2, 3, 4]));
  expect((await reader.getPoint({ id })).id).toEqual({ id });
  const request = query([1, 2, 3, 4], Similarity.Euclidean, 1n);
  expect((await reader.searchPoints(request)).resultPointIds).toEqual([{ id }]);
  const batch = await reader.searchPointsBatch({ queries: [request] });
  expect(batch.results).toEqual([{ resultPointIds: [{ id }] }]);
  await client.deletePoint({ id });
});
