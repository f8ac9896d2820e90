import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { ClientError, createChannel, createClient, Metadata, Status, type Client } from 'nice-grpc';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  ContentType,
  Order,
  PointsServiceDefinition,
  Similarity,
  type NewPoint,
  type SearchResponse,
  UpsertRequest,
} from '../../src/gen/vectord/v1/points.js';
import { RawClient } from '../grpc/client.js';
import { startServer, type TestServer } from '../support/server.js';

const DISTANCE = {
  distance: true,
  vector: false,
  content: false,
  contentType: false,
  metadata: false,
};

const A = '00000000-0000-4000-8000-00000000000a';
const UNKNOWN = '9f3c1d52-6f0e-4c8e-9a51-0a4f5f1f6f0b';
const TEXT = ContentType.CONTENT_TYPE_TEXT;
const collection = '';

type PointsServiceClient = Client<typeof PointsServiceDefinition>;

let server: TestServer;
let client: PointsServiceClient;

beforeAll(async () => {
  server = await startServer({ dimension: 2 });
  client = clientOf(server);
});

function clientOf({ grpc, keys }: TestServer, key = keys.readwrite): PointsServiceClient {
  const metadata = new Metadata({ authorization: key });
  const defaults = { '*': { metadata } };
  return createClient(PointsServiceDefinition, createChannel(grpc), defaults);
}

function point(id: string, x: number, content = ''): NewPoint {
  return { id, vector: [x, 0], content, contentType: 0, metadata: '' };
}

async function statusOf(call: Promise<unknown>): Promise<[Status, string]> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ClientError);
  const { code, details } = error as ClientError;
  return [code, details];
}

describe('messages', () => {
  const call = async (
    method: string,
    bytes: Uint8Array,
  ): Promise<{ code: number; details: string }> => {
    const caller = new RawClient(server.grpc, server.keys.readwrite);
    const answer = await caller.call(`/vectord.v1.PointsService/${method}`, Buffer.from(bytes));
    caller.close();
    return answer;
  };
  const message = (field: number, bytes: Uint8Array): Uint8Array =>
    new BinaryWriter()
      .uint32((field << 3) | 2)
      .bytes(bytes)
      .finish();
  const number = (field: number): Uint8Array =>
    new BinaryWriter()
      .uint32(field << 3)
      .uint32(1)
      .finish();

  it.each([
    ['Upsert', number(9), 'field 9 with wire type 0 of the request'],
    ['Upsert', message(1, number(7)), 'field 7 with wire type 0 of points[0]'],
    ['Upsert', message(1, number(3)), 'field 3 with wire type 0 of points[0]'],
    ['Update', message(1, message(9, new Uint8Array())), 'field 9 with wire type 2 of points[0]'],
    [
      'Search',
      message(1, message(8, number(6))),
      'field 6 with wire type 0 of queries[0]: include',
    ],
    ['Search', number(20), 'field 20 with wire type 0 of the request'],
    ['Get', message(2, number(6)), 'field 6 with wire type 0 of include'],
    ['Scroll', number(6), 'field 6 with wire type 0 of the request'],
    ['ScrollStream', number(5), 'field 5 with wire type 0 of the request'],
    ['Delete', number(5), 'field 5 with wire type 0 of the request'],
    ['Count', number(2), 'field 2 with wire type 0 of the request'],
    ['Info', number(1), 'field 1 with wire type 0 of the request'],
  ])('of %s with an unknown field are refused with its number', async (method, bytes, text) => {
    const { code, details } = await call(method, bytes);
    expect(details).toContain(text);
    expect(code).toBe(Status.INVALID_ARGUMENT);
  });

  it('may hold a vector that is not packed', async () => {
    const values = new BinaryWriter().uint32(0x15).float(1).uint32(0x15).float(0.5).finish();
    expect((await call('Upsert', message(1, values))).code).toBe(Status.OK);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ['similarity', () => search(0), 'similarity is 0, expected 1 (Euclidean)'],
    ['similarity', () => search(5), 'similarity is 5'],
    [
      'order',
      () =>
        client.scroll({ limit: 1n, after: '', order: 3 as Order, include: undefined, collection }),
      'order is 3',
    ],
    ['collection', () => client.count({ collection: 'x' }), 'collection is "x"'],
    [
      'content_type',
      () => upsert({ ...point(A, 1), contentType: 3 as ContentType }),
      'content_type is 3',
    ],
    ['id', () => upsert({ ...point('x', 1) }), 'points[0]: id is "x"'],
    ['metadata', () => upsert({ ...point(A, 1), metadata: '[]' }), 'points[0].metadata'],
    ['metadata', () => upsert({ ...point(A, 1), metadata: '{"a":' }), 'points[0].metadata'],
    ['vector', () => upsert({ ...point(A, 1), vector: [1] }), 'points[0]: vector has 1'],
    ['vector', () => upsert({ ...point(A, 1), vector: [1, NaN] }), 'points[0]'],
    ['confirm', () => client.delete({ ids: [], all: true, collection }), 'confirm is missing'],
    ['all', () => client.delete({ ids: [], all: false, confirm: 1n, collection }), 'confirm'],
    ['include', () => client.get({ ids: [A], include: DISTANCE, collection }), 'include.distance'],
    [
      'include',
      () => client.scroll({ limit: 1n, after: '', order: 0, include: DISTANCE, collection }),
      'include.distance',
    ],
    [
      'include',
      () => all(client.scrollStream({ after: '', order: 0, include: DISTANCE, collection })),
      'include.distance',
    ],
    ['ids', () => client.get({ ids: [A, 'y'], include: undefined, collection }), 'ids[1] is "y"'],
  ])('with a wrong %s name it', async (_, ask, text) => {
    const [code, details] = await statusOf(ask());
    expect(details).toContain(text);
    expect(code).toBe(Status.INVALID_ARGUMENT);
  });

  // Twice as many of the first two are a power of two, which 32 and 64 bits cut to 0.
  it.each([2n ** 31n, 2n ** 63n, 2n ** 64n - 1n])(
    'may ask for %d neighbours without an ef',
    async (limit) => {
      await upsert(point(A, 1));
      const { count } = await client.count({ collection });
      const { results } = await search(Similarity.SIMILARITY_EUCLIDEAN, limit);
      expect(results.map(({ points }) => BigInt(points.length))).toEqual([count]);
    },
  );

  async function upsert(one: NewPoint): Promise<unknown> {
    return await client.upsert({
      points: [point(UNKNOWN, 1), one].slice(1),
      ifAbsent: false,
      collection,
    });
  }

  async function search(similarity: number, limit = 1n): Promise<SearchResponse> {
    const query = {
      vector: [1, 2],
      like: '',
      similarity,
      limit,
      ef: 0n,
      exact: false,
      include: undefined,
    };
    return await client.search({ queries: [query], collection });
  }
});

describe('methods', () => {
  it('need a key, and those that write a key that may', async () => {
    const reader = clientOf(server, server.keys.readonly);
    const stranger = clientOf(server, 'no-such-key');
    const writes = [
      (of: PointsServiceClient) => of.upsert({ points: [], ifAbsent: false, collection }),
      (of: PointsServiceClient) => of.update({ points: [], collection }),
      (of: PointsServiceClient) => of.delete({ ids: [], all: false, collection }),
      (of: PointsServiceClient) => all(of.upsertStream(each([]))),
    ];
    for (const write of writes) {
      expect((await statusOf(write(reader)))[0]).toBe(Status.PERMISSION_DENIED);
      expect((await statusOf(write(stranger)))[0]).toBe(Status.UNAUTHENTICATED);
    }
    expect((await statusOf(stranger.count({ collection })))[0]).toBe(Status.UNAUTHENTICATED);
    await expect(reader.count({ collection })).resolves.toBeDefined();
  });
});

describe('streams', () => {
  it('acknowledge each message in turn, and keep what they did when one is refused', async () => {
    const own = clientOf(await startServer({ dimension: 2 }));
    const ids = [1, 2, 3].map((at) => `00000000-0000-4000-8000-00000000000${at}`);
    const [one = '', two = '', three = ''] = ids;
    const answers: string[][] = [];
    const messages = each([
      { points: [point(one, 1), point(two, 2)], ifAbsent: false, collection },
      { points: [point(three, 3)], ifAbsent: true, collection },
      { points: [point('x', 4)], ifAbsent: false, collection },
      { points: [point(UNKNOWN, 5)], ifAbsent: false, collection },
    ]);
    const failed = (async () => {
      for await (const answer of own.upsertStream(messages)) answers.push(answer.ids);
    })();
    expect(await statusOf(failed)).toEqual([
      Status.INVALID_ARGUMENT,
      expect.stringContaining('"x"'),
    ]);
    expect(answers).toEqual([[one, two], [three]]);
    expect(await own.count({ collection })).toEqual({ count: 3n });
  });

  it('bring many points in bounded memory, in both directions', async () => {
    const own = await startServer({ dimension: 2, env: { MAX_INFLIGHT_BYTES: `${80 << 20}` } });
    const stream = clientOf(own);
    const content = 'x'.repeat(10_000);
    const batches = 200;
    const batch = 100;
    let stored = 0;
    async function* messages() {
      for (let at = 0; at < batches; at += 1) {
        const points = Array.from({ length: batch }, () => point('', at, content));
        yield { points, ifAbsent: false, collection };
      }
    }
    for await (const answer of stream.upsertStream(messages())) stored += Number(answer.stored);
    expect(stored).toBe(batches * batch);
    const seen = new Set<string>();
    let last = '';
    for await (const { points, next } of stream.scrollStream({
      after: '',
      order: 0,
      include: undefined,
      collection,
    })) {
      for (const { id, content: text } of points) {
        expect(text).toBe(content);
        seen.add(id);
      }
      last = next;
    }
    expect(last).toBe('');
    expect(seen.size).toBe(stored);
  }, 90_000);

  it('take memory for the arrays that messages become, and give it back', async () => {
    const own = await startServer({ dimension: 1, env: { MAX_INFLIGHT_BYTES: '1000000' } });
    const writer = clientOf(own);
    const request = (count: number) => ({
      points: Array.from({ length: count }, () => ({ ...point('', 1, ''), vector: [1] })),
      ifAbsent: false,
      collection,
    });
    // 50,000 points are 0.8 MB of message and some 1.4 MB of arrays.
    const size = UpsertRequest.encode(request(50_000)).finish().length;
    expect(size).toBeLessThan(900_000);
    expect(await statusOf(writer.upsert(request(50_000)))).toEqual([
      Status.RESOURCE_EXHAUSTED,
      expect.stringContaining('MAX_INFLIGHT_BYTES'),
    ]);
    let stored = 0;
    const messages = each(Array.from({ length: 10 }, () => request(5_000)));
    for await (const answer of writer.upsertStream(messages)) stored += Number(answer.stored);
    expect(stored).toBe(50_000);
  });

  it('take memory once for a large message and the arrays that it becomes', async () => {
    const most = { MAX_REQUEST_BYTES: '1000000', MAX_INFLIGHT_BYTES: '1000000' };
    const own = clientOf(await startServer({ dimension: 2, env: most }));
    const points = [point('', 1, 'x'.repeat(600_000))];
    const request = { points, ifAbsent: false, collection };
    expect(await own.upsert(request)).toMatchObject({ stored: 1n });
    const answers = await all(own.upsertStream(each([request])));
    expect(answers).toMatchObject([{ stored: 1n }]);
  });

  it('go on behind a message of an earlier one, from either end', async () => {
    const own = clientOf(await startServer({ dimension: 2 }));
    const points = Array.from({ length: 3_000 }, (_, at) => point('', at));
    const { ids } = await own.upsert({ points, ifAbsent: false, collection });
    for (const order of [Order.ORDER_OLDEST, Order.ORDER_NEWEST]) {
      const expected = order === Order.ORDER_OLDEST ? ids : ids.toReversed();
      const include = {
        distance: false,
        vector: false,
        content: false,
        contentType: false,
        metadata: false,
      };
      let after = '';
      const first: string[] = [];
      for await (const message of own.scrollStream({ after, order, include, collection })) {
        first.push(...message.points.map(({ id }) => id));
        after = message.next;
        break;
      }
      const rest = await all(own.scrollStream({ after, order, include, collection }));
      const ofRest = rest.flatMap((message) => message.points.map(({ id }) => id));
      expect([...first, ...ofRest]).toEqual(expected);
    }
  });
});

describe('answers', () => {
  it('have each part that is asked for and no other', async () => {
    const own = clientOf(await startServer({ dimension: 2 }));
    const one = { id: A, vector: [1, 0.5], content: 'é', contentType: TEXT, metadata: '{"a":1}' };
    await own.upsert({ points: [one], ifAbsent: false, collection });
    const none = {
      distance: false,
      vector: false,
      content: false,
      contentType: false,
      metadata: false,
    };
    const absent = {
      id: A,
      vector: [],
      content: undefined,
      contentType: undefined,
      metadata: undefined,
    };
    for (const [part, value] of Object.entries({ ...one, distance: 0 })) {
      if (part === 'id') continue;
      const include = { ...none, [part]: true };
      const query = { vector: [1, 0.5], like: '', similarity: Similarity.SIMILARITY_EUCLIDEAN };
      const more = { limit: 1n, ef: 0n, exact: false, include };
      const { results } = await own.search({ queries: [{ ...query, ...more }], collection });
      const found = { ...absent, distance: undefined, [part]: value };
      expect(results).toEqual([{ points: [found] }]);
    }
    expect(await own.get({ ids: [A, UNKNOWN, A], include: undefined, collection })).toEqual({
      points: [{ ...one, vector: [], distance: undefined }],
      missing: [UNKNOWN],
    });
  });
});

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}
