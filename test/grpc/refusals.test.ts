import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { ON_NICE_GRPC } from '../support/vectord.js';
import * as wire from '../support/wire.js';
import { RawClient, type Answer } from './client.js';
import { METHODS } from './model.js';

const VALUES = [1, 2, 3, 4];
const PAYLOAD = wire.delimited(2, wire.integer(1, 1), wire.delimited(2, 'x'));
const VECTOR = wire.delimited(1, wire.packed(VALUES));
const NO_POINT = '00000000-0000-4000-8000-000000000000';

let server: TestServer;
let client: RawClient;

beforeAll(async () => {
  server = await startServer({ dimension: 4 });
  client = new RawClient(server.grpc, server.keys.readwrite);
});

afterAll(async () => {
  client.close();
  expect(server.log()).not.toContain('"level":"error"');
});

function id(text: string): Buffer {
  return wire.delimited(1, wire.delimited(1, text));
}

function refused(code: status, details: string): Answer {
  const requestId = expect.stringMatching(/^[0-9a-f-]{36}$/);
  return { code, details, message: undefined, requestId, metadata: expect.anything() };
}

async function expectInvalid(method: string, request: Uint8Array, details: string): Promise<void> {
  expect(await client.call(method, request)).toEqual(refused(status.INVALID_ARGUMENT, details));
}

describe('a wrong dimension is INVALID_ARGUMENT', () => {
  const WRONG = 'vector has 3 dimensions, this service stores 4';
  const item = wire.insertRequest([1, 2, 3], 'x');
  const good = wire.insertRequest(VALUES, 'x');
  const search = wire.searchRequest([1, 2, 3], 1);

  test.each([
    ['InsertVector', item, WRONG],
    ['SearchPoints', search, WRONG],
    [
      'InsertVectorsBatch, which names the item',
      Buffer.concat([wire.delimited(1, good), wire.delimited(1, item)]),
      `vectors[1]: ${WRONG}`,
    ],
    ['SearchPointsBatch, which names the item', wire.delimited(1, search), `queries[0]: ${WRONG}`],
  ])('in %s', async (name, request, details) => {
    await expectInvalid(name.split(',')[0] ?? name, request, details);
  });

  test('and so is a vector that is there and empty', async () => {
    const details = 'vector has 0 dimensions, this service stores 4';
    await expectInvalid('InsertVector', Buffer.concat([wire.delimited(1), PAYLOAD]), details);
  });
});

describe('what is missing is INVALID_ARGUMENT', () => {
  test.each([
    ['InsertVector', PAYLOAD, 'vector is missing'],
    ['InsertVector', VECTOR, 'payload is missing'],
    ['InsertVectorsBatch', wire.delimited(1, VECTOR), 'vectors[0]: payload is missing'],
    ['InsertVectorsBatch', wire.delimited(1, PAYLOAD), 'vectors[0]: vector is missing'],
    ['SearchPoints', wire.integer(3, 1), 'query_vector is missing'],
    ['SearchPointsBatch', wire.delimited(1), 'queries[0]: query_vector is missing'],
    ['GetPoint', Buffer.alloc(0), 'id is missing, expected a UUID'],
    ['DeletePoint', Buffer.alloc(0), 'id is missing, expected a UUID'],
  ])('%s (%#)', expectInvalid);
});

describe('a value out of range is INVALID_ARGUMENT', () => {
  const SIMILARITIES = '0 (Euclidean), 1 (Manhattan), 2 (Hamming), 3 (Cosine)';
  const search = wire.searchRequest(VALUES, 1);
  const withType = (value: number): Buffer =>
    Buffer.concat([VECTOR, wire.delimited(2, wire.integer(1, value))]);

  test.each([4, -1, 1000])('similarity %d', async (value) => {
    const request = Buffer.concat([search, wire.integer(2, value)]);
    const details = `similarity is ${value}, expected ${SIMILARITIES}`;
    await expectInvalid('SearchPoints', request, details);
    await expectInvalid('SearchPointsBatch', wire.delimited(1, request), `queries[0]: ${details}`);
  });

  test.each([2, -1])('content_type %d', async (value) => {
    const details = `payload.content_type is ${value}, expected 0 (Image), 1 (Text)`;
    await expectInvalid('InsertVector', withType(value), details);
    const batch = wire.delimited(1, withType(value));
    await expectInvalid('InsertVectorsBatch', batch, `vectors[0]: ${details}`);
  });

  test('a limit of 0, or absent', async () => {
    const details = 'limit is 0, expected at least 1';
    await expectInvalid('SearchPoints', wire.searchRequest(VALUES, 0), details);
    await expectInvalid('SearchPoints', VECTOR, details);
    await expectInvalid('SearchPointsBatch', wire.delimited(1, VECTOR), `queries[0]: ${details}`);
  });

  test.each([NaN, Infinity, -Infinity])('a value of %d in a vector', async (value) => {
    const answers = await Promise.all([
      client.call('InsertVector', wire.insertRequest([1, value, 3, 4], 'x')),
      client.call(
        'InsertVectorsBatch',
        wire.delimited(1, wire.insertRequest([1, 2, 3, value], 'x')),
      ),
      client.call('SearchPoints', wire.searchRequest([value, 2, 3, 4], 1)),
      client.call('SearchPointsBatch', wire.delimited(1, wire.searchRequest([1, 2, value, 4], 1))),
    ]);
    for (const { code, details } of answers) {
      expect(code).toBe(status.INVALID_ARGUMENT);
      expect(details).toContain('finite');
    }
  });
});

describe('an id that is no UUID is INVALID_ARGUMENT', () => {
  test.each([
    '',
    'x',
    NO_POINT.replaceAll('-', ''),
    `{${NO_POINT}}`,
    `${NO_POINT}0`,
    ` ${NO_POINT}`,
    '../../etc/passwd',
    'a\0b',
    '__proto__',
  ])('%j', async (text) => {
    const details = `id is ${JSON.stringify(text)}, expected a UUID (8-4-4-4-12 hexadecimal digits)`;
    await expectInvalid('GetPoint', id(text), details);
    await expectInvalid('DeletePoint', id(text), details);
  });

  test('a long one is not sent back whole', async () => {
    const { details } = await client.call('GetPoint', id('😀'.repeat(10_000)));
    expect(details.length).toBeLessThan(250);
  });
});

describe('a point that does not exist is NOT_FOUND', () => {
  test.each(['GetPoint', 'DeletePoint'])('%s', async (method) => {
    const answer = await client.call(method, id(NO_POINT));
    expect(answer).toEqual(refused(status.NOT_FOUND, 'Point not found'));
  });

  test('and so is the second deletion of one that did', async () => {
    const { message } = await client.call('InsertVector', wire.insertRequest(VALUES, 'x'));
    expect(await client.call('DeletePoint', message ?? Buffer.alloc(0))).toMatchObject({ code: 0 });
    expect(await client.call('DeletePoint', message ?? Buffer.alloc(0))).toEqual(
      refused(status.NOT_FOUND, 'Point not found'),
    );
  });
});

test('a batch with one bad item stores nothing', async () => {
  const marked = wire.insertRequest([7, 7, 7, 7], 'marked');
  const batch = [marked, marked, VECTOR].map((item) => wire.delimited(1, item));
  await expectInvalid('InsertVectorsBatch', Buffer.concat(batch), 'vectors[2]: payload is missing');
  const { message } = await client.call('SearchPoints', wire.searchRequest([7, 7, 7, 7], 1000));
  expect(message).toEqual(Buffer.alloc(0));
});

describe('a message that is not protobuf is INVALID_ARGUMENT', () => {
  async function expectRefused(method: string): Promise<void> {
    for (const bytes of [Buffer.of(0x0a, 0x7f), Buffer.of(0xff), Buffer.alloc(20, 0xff)]) {
      const answer = await client.call(method, bytes);
      expect(answer).toMatchObject({ code: status.INVALID_ARGUMENT });
    }
  }

  test.each(METHODS)('in %s', expectRefused);

  // That codec throws, which grpc-js answers with INTERNAL.
  test.skipIf(ON_NICE_GRPC)('in a call of the health service', async () => {
    await expectRefused('/grpc.health.v1.Health/Check');
  });
});

test('unpacked floats, unknown fields and any order of fields are read', async () => {
  const request = Buffer.concat([
    wire.group(9, wire.integer(1, 5)),
    PAYLOAD,
    wire.fixed(77, Buffer.alloc(8)),
    wire.delimited(1, wire.unpacked([5, 6]), wire.delimited(3, 'unknown'), wire.packed([7, 8])),
  ]);
  const { message } = await client.call('InsertVector', request);
  const stored = await client.call('GetPoint', message ?? Buffer.alloc(0));
  expect(stored.message?.includes(wire.packed([5, 6, 7, 8]))).toBe(true);
  await client.call('DeletePoint', message ?? Buffer.alloc(0));
});

test('an absent similarity is Euclidean', async () => {
  const near = await client.call('InsertVector', wire.insertRequest([1, 1, 1, 2], 'x'));
  const far = await client.call('InsertVector', wire.insertRequest([9, 9, 9, 9], 'x'));
  const { message } = await client.call('SearchPoints', wire.searchRequest([1, 1, 1, 1], 1));
  expect(message).toEqual(wire.delimited(1, near.message ?? ''));
  for (const point of [near, far]) await client.call('DeletePoint', point.message ?? Buffer.of());
});

// grpc-js answers INTERNAL.
test.skipIf(ON_NICE_GRPC).each(['zzz', '5'])(
  'a grpc-timeout of %j is INVALID_ARGUMENT',
  async (timeout) => {
    const answer = await client.call('GetPoint', id(NO_POINT), { 'grpc-timeout': timeout });
    const expected = 'at most eight digits and one of H, M, S, m, u and n';
    const details = `the grpc-timeout is "${timeout}", expected ${expected}`;
    expect(answer).toEqual(refused(status.INVALID_ARGUMENT, details));
  },
);
