import { runInNewContext } from 'node:vm';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Client, Metadata, NewPoint, Part, SearchPart } from '../../src/client/node.js';
import { startServer, type TestServer } from '../support/server.js';
import { expectFailure, expectInvalid, id, open, PROTOCOLS, UNKNOWN } from './open.js';

const METADATA = {
  text: 'é "x"\n',
  whole: Number.MAX_SAFE_INTEGER,
  beyond: [2 ** 53, 2 ** 53 + 2, 1e16, -123_456_789_012_345_680_000, 1e21, 1.5e300],
  double: 0.1,
  minus: -0,
  flag: false,
  none: null,
  texts: ['a', 'b'],
  numbers: [1, -2.5],
  flags: [true],
  empty: [],
};

/** Of single precision: a sum that is none, a zero with a sign, and the smallest of all. */
const VALUES = Float32Array.of(0.1, -0, 1e-45, -3.4e38);

/** What is no plain object. */
class Own {
  a = 1;
}

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

describe.each(PROTOCOLS)('over %s', (protocol) => {
  let client: Client;
  let reader: Client;

  beforeEach(async () => {
    client = open(server, protocol);
    reader = open(server, protocol, { key: server.keys.readonly });
    await client.deleteAll(await client.count());
  });

  /** Points on a line, at 1, 2, 3 and so on, each with its number as content. */
  async function storeLine(count: number): Promise<void> {
    const points = Array.from({ length: count }, (_, at) => ({
      id: id(at + 1),
      vector: [at + 1, 0, 0, 0],
      content: String(at + 1),
    }));
    await client.upsert(points);
  }

  describe('upsert', () => {
    test('draws ids where there are none, and answers all in their order', async () => {
      const points = [{ vector: [1, 0, 0, 0] }, { id: id(1), vector: [2, 0, 0, 0] }];
      const { ids, ...counts } = await client.upsert(points);
      expect(counts).toEqual({ stored: 2, replaced: 0, kept: 0 });
      expect(ids).toEqual([expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4/), id(1)]);
      expect(await client.count()).toBe(2);
    });

    test('replaces a point whole', async () => {
      const one = { id: id(1), vector: [1, 0, 0, 0], content: 'a', contentType: 'Image' } as const;
      await client.upsert([{ ...one, metadata: { a: 1 } }]);
      const { stored, replaced } = await client.upsert([{ id: id(1), vector: [0, 1, 0, 0] }]);
      expect([stored, replaced]).toEqual([0, 1]);
      const include: Part[] = ['vector', 'content', 'contentType', 'metadata'];
      const { points } = await client.get([id(1)], { include });
      const vector = Float32Array.of(0, 1, 0, 0);
      const payload = { content: '', contentType: 'Text', metadata: null };
      expect(points).toEqual([{ id: id(1), vector, ...payload }]);
    });

    test('keeps what is there, if it is asked to', async () => {
      await client.upsert([{ id: id(1), vector: [1, 0, 0, 0], content: 'old' }]);
      const points = [id(1), id(2)].map((of) => ({ id: of, vector: [1, 1, 0, 0], content: 'new' }));
      expect(await client.upsert(points, { ifAbsent: true })).toEqual({
        ids: [id(1), id(2)],
        stored: 1,
        replaced: 0,
        kept: 1,
      });
      const { points: found } = await client.get([id(1), id(2)], { include: ['content'] });
      expect(found.map(({ content }) => content)).toEqual(['old', 'new']);
    });

    test('takes ids in either case, and answers them in lower case', async () => {
      const { ids } = await client.upsert([{ id: UNKNOWN.toUpperCase(), vector: VALUES }]);
      expect(ids).toEqual([UNKNOWN]);
    });

    test('takes vectors as they lie in memory, and gives them back bit for bit', async () => {
      const part = Float32Array.of(9, ...VALUES, 9).subarray(1, 5);
      await client.upsert([
        { id: id(1), vector: part },
        { id: id(2), vector: [...VALUES] },
      ]);
      const { points } = await client.get([id(1), id(2)], { include: ['vector'] });
      for (const { vector } of points) expect(vector).toEqual(VALUES);
    });

    test('refuses an id that comes twice, and stores nothing', async () => {
      const points = [1, 2, 1].map((of) => ({ id: id(of), vector: VALUES }));
      await expectFailure(
        client.upsert(points),
        'INVALID_ARGUMENT',
        /points\[2\]: id is that of points\[0\]/,
      );
      expect(await client.count()).toBe(0);
    });

    test.each([
      ['no id', { id: 'x', vector: VALUES }, /id is "x"/],
      ['the nil id', { id: '00000000-0000-0000-0000-000000000000', vector: VALUES }, /id/],
      ['another dimension', { vector: [1, 2] }, /2/],
      ['a value that is none', { vector: [1, 2, 3, NaN] }, /points\[0\]/],
      ['half of a surrogate pair', { vector: VALUES, content: '\ud800' }, /content has a half/],
      ['a number that JSON lacks', { vector: VALUES, metadata: { a: NaN } }, /metadata\.a is NaN/],
      ['a key of the service', { vector: VALUES, metadata: { $a: 1 } }, /\$a/],
    ])('refuses %s', async (_, point, message) => {
      await expectFailure(client.upsert([point]), 'INVALID_ARGUMENT', message);
    });

    test.each([
      ['vector[1] is null, expected a number', { vector: [1, null, 3, 4] }],
      ['vector[0] is "1", expected a number', { vector: ['1', '', true, [4]] }],
      [
        'vector[3] is undefined, expected a number',
        { vector: Object.assign([1, 2, 3], { length: 4 }) },
      ],
      ['vector is a Float64Array, expected a Float32Array', { vector: new Float64Array(4) }],
      ['vector is an Object, expected a Float32Array', { vector: { 0: 1 } }],
      [
        'metadata is a Map, expected a plain object',
        { vector: VALUES, metadata: new Map([['a', 1]]) },
      ],
      ['metadata is a Date, expected a plain object', { vector: VALUES, metadata: new Date() }],
      ['metadata is an Array, expected a plain object', { vector: VALUES, metadata: [] }],
      ['metadata is an Own, expected a plain object', { vector: VALUES, metadata: new Own() }],
      [
        'metadata.a[1] is undefined, expected',
        { vector: VALUES, metadata: { a: Object.assign([1], { length: 2 }) } },
      ],
    ])('refuses what JavaScript would change: %s', async (message, wrong) => {
      const point = wrong as unknown as NewPoint;
      await expectInvalid(client.upsert([point]), `points[0].${message}`);
      await expectInvalid(client.bulk([point]), `points[0].${message}`);
      expect(await client.count()).toBe(0);
    });

    test('takes metadata without a prototype, or of another realm', async () => {
      const metadata = [
        Object.assign(Object.create(null) as Metadata, { a: 1 }),
        runInNewContext('({ a: 1 })') as Metadata,
      ];
      const points = metadata.map((of, at) => ({ id: id(at + 1), vector: VALUES, metadata: of }));
      await client.upsert(points);
      const found = await client.get([id(1), id(2)]);
      expect(found.points.map((point) => point.metadata)).toEqual([{ a: 1 }, { a: 1 }]);
    });

    test('of no points does nothing', async () => {
      expect(await client.upsert([])).toEqual({ ids: [], stored: 0, replaced: 0, kept: 0 });
    });

    test('needs a key that may write', async () => {
      await expectFailure(reader.upsert([{ vector: VALUES }]), 'PERMISSION_DENIED', /readonly/);
    });
  });

  describe('get', () => {
    test('answers payloads in the order of the ids, each once, and what is missing', async () => {
      await client.upsert([
        { id: id(1), vector: VALUES, content: 'é', contentType: 'Image', metadata: METADATA },
        { id: id(2), vector: VALUES },
      ]);
      expect(await reader.get([id(2), UNKNOWN, id(1), id(2)])).toEqual({
        points: [
          { id: id(2), content: '', contentType: 'Text', metadata: null },
          { id: id(1), content: 'é', contentType: 'Image', metadata: METADATA },
        ],
        missing: [UNKNOWN],
      });
    });

    test.each<[Part[], object]>([
      [[], {}],
      [['vector'], { vector: VALUES }],
      [['content'], { content: 'x' }],
      [['contentType'], { contentType: 'Text' }],
      [['metadata'], { metadata: { a: 1 } }],
    ])('answers %j alone', async (include, parts) => {
      await client.upsert([{ id: id(1), vector: VALUES, content: 'x', metadata: { a: 1 } }]);
      const { points, missing } = await client.get([id(1)], { include });
      expect(points).toEqual([{ id: id(1), ...parts }]);
      expect(missing).toEqual([]);
    });

    test('refuses an id that is none, and a distance', async () => {
      await expectFailure(client.get([id(1), 'x']), 'INVALID_ARGUMENT', /ids\[1\] is "x"/);
      const include = ['distance'] as unknown as Part[];
      await expectFailure(client.get([], { include }), 'INVALID_ARGUMENT', /include\[0\]/);
    });
  });

  describe('search', () => {
    test.each([
      ['Euclidean', Math.sqrt(8)],
      ['Manhattan', 4],
      ['Hamming', 2],
      ['Cosine', 1],
    ] as const)('measures by %s', async (similarity, distance) => {
      await client.upsert([{ id: id(1), vector: [2, 0, 0, 0] }]);
      const [found] = await reader.search({ vector: [0, 2, 0, 0], similarity, limit: 1 });
      expect(found?.id).toBe(id(1));
      expect(found?.distance).toBeCloseTo(distance, 12);
    });

    test('answers the closest first, as many as are wanted', async () => {
      await storeLine(5);
      const query = { vector: [4.1, 0, 0, 0], similarity: 'Euclidean', limit: 2 } as const;
      const found = await client.search(query);
      expect(found.map((point) => point.id)).toEqual([id(4), id(5)]);
    });

    test('answers what is no farther than that', async () => {
      await storeLine(5);
      const query = { vector: Float32Array.of(1, 0, 0, 0), similarity: 'Manhattan' } as const;
      const near = await client.search({ ...query, limit: 9, maxDistance: 2 });
      expect(near.map(({ distance }) => distance)).toEqual([0, 1, 2]);
      const none = await client.search({
        ...query,
        vector: [9, 0, 0, 0],
        limit: 9,
        maxDistance: 0,
      });
      expect(none).toEqual([]);
    });

    test('leaves out the point that is asked about, and tells if it is missing', async () => {
      await storeLine(3);
      const query = { similarity: 'Euclidean', limit: 3, include: [] } as const;
      expect(await client.search({ ...query, like: id(1) })).toEqual([
        { id: id(2) },
        { id: id(3) },
      ]);
      await expectFailure(client.search({ ...query, like: UNKNOWN }), 'NOT_FOUND', /like/);
    });

    test('compares all points where it is to be exact, or as many as ef says', async () => {
      await storeLine(200);
      const query = { vector: [150.2, 0, 0, 0], similarity: 'Euclidean', limit: 200 } as const;
      const exact = await client.search({ ...query, exact: true });
      expect(exact.slice(0, 2).map((point) => point.id)).toEqual([id(150), id(151)]);
      expect(exact).toHaveLength(200);
      expect(await client.search({ ...query, ef: 1_000 })).toEqual(exact);
    });

    test.each<[SearchPart[] | undefined, object]>([
      [[], {}],
      [undefined, { distance: 0, content: 'x', metadata: null }],
      [['distance'], { distance: 0 }],
      [['vector'], { vector: VALUES }],
      [
        ['content', 'contentType', 'metadata'],
        { content: 'x', contentType: 'Text', metadata: null },
      ],
    ])('answers %j alone', async (include, parts) => {
      await client.upsert([{ id: id(1), vector: VALUES, content: 'x' }]);
      const query = { vector: VALUES, similarity: 'Euclidean', limit: 1, include } as const;
      expect(await client.search(query)).toEqual([{ id: id(1), ...parts }]);
    });

    test('answers a list for each query, with what that includes', async () => {
      await storeLine(3);
      const query = { similarity: 'Manhattan', limit: 1 } as const;
      const results = await client.searchAll([
        { ...query, vector: [3, 0, 0, 0] },
        { ...query, vector: [9, 0, 0, 0], maxDistance: 1 },
        { ...query, like: id(1), include: ['content', 'metadata'] },
      ]);
      expect(results).toEqual([
        [{ id: id(3), distance: 0, content: '3', metadata: null }],
        [],
        [{ id: id(2), content: '2', metadata: null }],
      ]);
      expect(await client.searchAll([])).toEqual([]);
    });

    test.each([
      ['a similarity', { similarity: 'cosine' }, /similarity is "cosine", expected one of/],
      ['a limit', { limit: 0 }, /limit is 0/],
      ['a limit', { limit: 1.5 }, /limit is 1.5/],
      ['a distance', { maxDistance: NaN }, /maxDistance is NaN/],
      ['a distance', { maxDistance: -1 }, /max_distance/],
      ['two questions', { like: id(1) }, /found both/],
      ['no question', { vector: undefined }, /found neither/],
    ])('refuses %s that is wrong', async (_, wrong, message) => {
      const query = { vector: VALUES, similarity: 'Cosine', limit: 1, ...wrong } as never;
      await expectFailure(client.search(query), 'INVALID_ARGUMENT', message);
      await expectFailure(client.searchAll([query]), 'INVALID_ARGUMENT', message);
    });
  });

  describe('delete', () => {
    test('counts what it deletes, each id once, and names what is missing', async () => {
      await storeLine(3);
      const deleted = await client.delete([id(1), UNKNOWN, id(1), id(3)]);
      expect(deleted).toEqual({ deleted: 2, missing: [UNKNOWN] });
      expect(await reader.count()).toBe(1);
      expect(await client.delete([])).toEqual({ deleted: 0, missing: [] });
      await expectFailure(reader.delete([id(2)]), 'PERMISSION_DENIED', /readonly/);
    });

    test('of all points needs their number', async () => {
      await storeLine(3);
      await expectFailure(client.deleteAll(2), 'CONFLICT', /\b3\b/);
      expect(await client.count()).toBe(3);
      expect(await client.deleteAll(3)).toEqual({ deleted: 3, missing: [] });
      expect(await client.count()).toBe(0);
      expect(await client.deleteAll(0)).toEqual({ deleted: 0, missing: [] });
      await expectFailure(reader.deleteAll(0), 'PERMISSION_DENIED', /readonly/);
      await expectFailure(client.deleteAll(-1), 'INVALID_ARGUMENT', /confirm is -1/);
    });
  });

  describe('update', () => {
    const OLD = { content: 'old', contentType: 'Image', metadata: { a: 1 } } as const;

    test.each([
      ['nothing', {}, OLD],
      ['a content', { content: '' }, { ...OLD, content: '' }],
      ['a content type', { contentType: 'Text' as const }, { ...OLD, contentType: 'Text' }],
      ['metadata', { metadata: { b: [2] } }, { ...OLD, metadata: { b: [2] } }],
      ['no metadata', { metadata: null }, { ...OLD, metadata: null }],
    ])('gives a point %s, and leaves the rest as it is', async (_, update, payload) => {
      await client.upsert([{ id: id(1), vector: VALUES, ...OLD }]);
      const updates = [
        { id: UNKNOWN, content: 'x' },
        { id: id(1), ...update },
      ];
      expect(await client.update(updates)).toEqual({ updated: 1, missing: [UNKNOWN] });
      const include: Part[] = ['vector', 'content', 'contentType', 'metadata'];
      const { points } = await client.get([id(1)], { include });
      expect(points).toEqual([{ id: id(1), vector: VALUES, ...payload }]);
    });

    test('refuses an id that comes twice, and a key that may not write', async () => {
      await storeLine(1);
      const twice = [{ id: id(1) }, { id: id(1), content: 'x' }];
      await expectFailure(client.update(twice), 'INVALID_ARGUMENT', /points\[1\].*points\[0\]/);
      expect(await client.update([])).toEqual({ updated: 0, missing: [] });
      await expectFailure(reader.update([{ id: id(1) }]), 'PERMISSION_DENIED', /readonly/);
    });
  });

  test('info tells what the service is, holds and bounds', async () => {
    await storeLine(2);
    await client.search({ vector: VALUES, similarity: 'Hamming', limit: 1 });
    await client.count({ filter: { a: 1 } });
    const { limits, graphs, filterIndex, ...info } = await reader.info();
    const bytes = expect.any(Number);
    expect(info).toEqual({
      version: expect.stringMatching(/^\d+\./),
      dimension: 4,
      points: 2,
      bytes,
    });
    for (const graph of graphs) {
      expect(graph).toEqual({
        similarity: expect.stringMatching(/^(Euclidean|Manhattan|Hamming|Cosine)$/),
        state: expect.stringMatching(/^(building|ready|failed)$/),
        slots: expect.any(Number),
        linked: expect.any(Number),
        bytes: expect.any(Number),
        idleSeconds: expect.any(Number),
      });
    }
    expect(filterIndex).toContainEqual({
      field: 'a',
      state: expect.stringMatching(/^(building|ready)$/),
      bytes: expect.any(Number),
    });
    expect(limits).toEqual({
      maxRequestBytes: 64 << 20,
      maxBatch: 100_000,
      maxContentBytes: 1 << 20,
      maxSearchWork: 20_000_000,
      maxInflightBytes: 512 << 20,
      maxFilterIndexBytes: 1 << 30,
    });
  });
});
