import {
  Client as GrpcClient,
  credentials,
  Metadata,
  status,
  type StatusObject,
} from '@grpc/grpc-js';
import { afterEach, expect, test, vi } from 'vitest';
import { Client, text } from '../http/client.js';
import { startServer, type TestServer } from '../support/server.js';
import * as wire from '../support/wire.js';

const ID = '9f3c1d52-6f0e-4c8e-9a51-0a4f5f1f6f0b';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const KEYS = { readwrite: 'secret-readwrite-key', readonly: 'secret-readonly-key' };
const VECTOR = [7.0625, 7.125, 7.1875, 7.25];
const CONTENT = 'a-content-that-nobody-else-may-see';

/** The parts of keys, vectors and contents by which they would be known anywhere in a log. */
const SECRETS = /secret-|7\.0625|7\.125|nobody-else|a-wrong-key/;

type Line = Readonly<Record<string, unknown>>;

let server: TestServer;

afterEach(async () => {
  expect(await server.stop()).toBe(0);
  expect(server.log()).not.toMatch(SECRETS);
});

function lines(message: string): Line[] {
  const json = server
    .log()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  return json.map((line) => JSON.parse(line) as Line).filter(({ msg }) => msg === message);
}

/** How a call ended, its trailing metadata included, which clients of one method do not show. */
async function call(
  method: string,
  request: Uint8Array,
  headers: Readonly<Record<string, string>> = { authorization: KEYS.readwrite },
): Promise<StatusObject> {
  const client = new GrpcClient(server.grpc, credentials.createInsecure());
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  const same = (bytes: Buffer): Buffer => bytes;
  const path = `/vectordb.VectorDB/${method}`;
  const unary = client.makeUnaryRequest(path, same, same, Buffer.from(request), metadata, () => {});
  const ended = await new Promise<StatusObject>((resolve) => unary.on('status', resolve));
  client.close();
  return ended;
}

function requestIdOf({ metadata }: StatusObject): string {
  return String(metadata.get('x-request-id')[0]);
}

function batchOf(queries: number, similarity: string) {
  const query = { vector: VECTOR, similarity, limit: 5, ef: 321 };
  return Array.from({ length: queries }, () => query);
}

test('at debug level each request is a line, alike on both interfaces', async () => {
  server = await startServer({ keys: KEYS, env: { LOG_LEVEL: 'debug' } });
  const writer = new Client(server, KEYS.readwrite);
  const stored = await writer.post('/points', { vector: VECTOR, payload: text(CONTENT) });
  const missing = await writer.get(`/points/${ID}`);
  const unknown = await new Client(server, 'a-wrong-key').get('/points/a/b');
  const inserted = await call('InsertVector', wire.insertRequest(VECTOR, CONTENT));
  const notFound = await call('GetPoint', wire.delimited(1, wire.delimited(1, ID)));
  const refused = await call('GetPoint', Buffer.alloc(0), { authorization: 'a-wrong-key' });

  const http = { interface: 'http', durationMs: expect.any(Number) as number };
  const grpc = { interface: 'grpc', durationMs: expect.any(Number) as number };
  const [insert, get] = ['vectordb.VectorDB/InsertVector', 'vectordb.VectorDB/GetPoint'];
  const header = ({ headers }: { headers: Headers }): string | null => headers.get('x-request-id');
  await vi.waitFor(() => expect(lines('request')).toHaveLength(6));
  expect(lines('request')).toMatchObject([
    { ...http, requestId: header(stored), method: 'POST', route: '/points', status: 201 },
    { ...http, requestId: header(missing), method: 'GET', route: '/points/:id', status: 404 },
    { ...http, requestId: header(unknown), method: 'GET', route: 'none', status: 401 },
    { ...grpc, requestId: requestIdOf(inserted), method: insert, status: 'OK' },
    { ...grpc, requestId: requestIdOf(notFound), method: get, status: 'NOT_FOUND' },
    { ...grpc, requestId: requestIdOf(refused), method: get, status: 'UNAUTHENTICATED' },
  ]);
  for (const { requestId, level } of lines('request')) {
    expect(requestId).toMatch(UUID);
    expect(level).toBe('debug');
  }
});

test('the name of a request is never one that its client gave', async () => {
  server = await startServer({ keys: KEYS, env: { LOG_LEVEL: 'debug' } });
  const own = 'chosen-by-the-client';
  const writer = new Client(server, KEYS.readwrite);
  const answer = await writer.send('GET', '/health', undefined, { 'x-request-id': own });
  expect(answer.headers.get('x-request-id')).toMatch(UUID);
  const headers = { authorization: KEYS.readwrite, 'x-request-id': own };
  expect(requestIdOf(await call('GetPoint', Buffer.alloc(0), headers))).toMatch(UUID);
  expect(server.log()).not.toContain(own);
});

test('at the usual level requests that are quick and sound are no lines', async () => {
  server = await startServer({ keys: KEYS, env: { SLOW_REQUEST_MS: '3600000' } });
  const writer = new Client(server, KEYS.readwrite);
  await writer.post('/points', { vector: VECTOR, payload: text(CONTENT) });
  await writer.post('/points', {});
  const queries = batchOf(2_000, 'Cosine');
  expect((await writer.post('/points/search/batch', { queries })).status).toBe(200);
  const sound = await call('InsertVector', wire.insertRequest(VECTOR, CONTENT));
  expect(sound.metadata.get('x-request-id')).toEqual([]);
  await call('InsertVector', Buffer.alloc(0));
  expect(server.log()).not.toContain('requestId');
});

test('0 logs no request as slow', async () => {
  server = await startServer({ keys: KEYS, env: { SLOW_REQUEST_MS: '0' } });
  const queries = batchOf(2_000, 'Cosine');
  const writer = new Client(server, KEYS.readwrite);
  expect((await writer.post('/points/search/batch', { queries })).status).toBe(200);
  expect(server.log()).not.toContain('slow request');
});

test('a slow request is a line that says what made it heavy', async () => {
  server = await startServer({ keys: KEYS, env: { SLOW_REQUEST_MS: '1' } });
  const writer = new Client(server, KEYS.readwrite);
  const vectors = Array.from({ length: 3_000 }, () => {
    return { vector: VECTOR, payload: text(CONTENT) };
  });
  const stored = await writer.post('/points/batch', { vectors });
  const queries = [...batchOf(1_000, 'Cosine'), ...batchOf(1_000, 'Hamming')];
  const found = await writer.post('/points/search/batch', { queries });
  const search = wire.delimited(1, wire.searchRequest(VECTOR, 7), wire.integer(2, 1));
  const called = await call('SearchPointsBatch', Buffer.concat(Array(2_000).fill(search)));
  const insert = wire.delimited(1, wire.insertRequest(VECTOR, CONTENT));
  const inserted = await call('InsertVectorsBatch', Buffer.concat(Array(3_000).fill(insert)));
  await vi.waitFor(() => expect(lines('slow request').length).toBeGreaterThanOrEqual(4));
  const slow = (requestId: string | null): Line | undefined =>
    lines('slow request').find((line) => line['requestId'] === requestId);

  expect(slow(stored.headers.get('x-request-id'))).toMatchObject({
    level: 'warn',
    interface: 'http',
    method: 'POST',
    route: '/points/batch',
    status: 201,
    items: 3_000,
    bytes: JSON.stringify({ vectors }).length,
  });
  const searched = slow(found.headers.get('x-request-id'));
  expect(searched).toMatchObject({
    route: '/points/search/batch',
    status: 200,
    queries: 2_000,
    similarity: ['Cosine', 'Hamming'],
    limit: 5,
    ef: 321,
  });
  expect(searched?.['durationMs']).toBeGreaterThan(1);
  expect(called.code).toBe(status.OK);
  expect(slow(requestIdOf(called))).toMatchObject({
    level: 'warn',
    interface: 'grpc',
    method: 'vectordb.VectorDB/SearchPointsBatch',
    status: 'OK',
    queries: 2_000,
    similarity: ['Manhattan'],
    limit: 7,
    ef: 100,
    bytes: search.length * 2_000 + 5,
  });
  expect(slow(requestIdOf(inserted))).toMatchObject({ status: 'OK', items: 3_000 });
});

test('a call that its client gives up is told of as well, with what it asked for', async () => {
  server = await startServer({ keys: KEYS, env: { SLOW_REQUEST_MS: '1' } });
  const client = new GrpcClient(server.grpc, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set('authorization', KEYS.readwrite);
  const same = (bytes: Buffer): Buffer => bytes;
  const writer = new Client(server, KEYS.readwrite);
  await writer.insertAll(Array.from({ length: 20_000 }, () => VECTOR));
  const search = wire.delimited(1, wire.searchRequest(VECTOR, 100));
  const request = Buffer.concat(Array(20_000).fill(search));
  const path = '/vectordb.VectorDB/SearchPointsBatch';
  const unary = client.makeUnaryRequest(path, same, same, request, metadata, () => {});
  unary.on('error', () => {});
  await vi.waitFor(async () => {
    const metrics = await writer.get('/metrics');
    expect(metrics.text).toMatch(/^vectord_search_jobs 1$/m);
  });
  unary.cancel();
  await vi.waitFor(() => {
    const cancelled = lines('slow request').filter((line) => line['status'] === 'CANCELLED');
    expect(cancelled).toMatchObject([{ queries: 20_000, interface: 'grpc' }]);
  });
  client.close();
});

test('what overload refuses is a warning on both interfaces; what a client asks too much is not', async () => {
  const env = { MAX_INFLIGHT_BYTES: '400', MAX_REQUEST_BYTES: '500', MAX_CONTENT_BYTES: '10' };
  server = await startServer({ keys: KEYS, env });
  const writer = new Client(server, KEYS.readwrite);
  const refused = await writer.post('/points', 'x'.repeat(450));
  const called = await call('InsertVector', wire.insertRequest(VECTOR, 'x'.repeat(420)));
  expect((await writer.post('/points', 'x'.repeat(501))).status).toBe(413);
  const tooLarge = await call('InsertVector', wire.insertRequest(VECTOR, 'x'.repeat(11)));
  expect([refused.status, called.code, tooLarge.code]).toEqual([
    503,
    status.RESOURCE_EXHAUSTED,
    status.RESOURCE_EXHAUSTED,
  ]);
  await vi.waitFor(() => expect(lines('request failed').length).toBeGreaterThanOrEqual(2));
  const reason = expect.stringContaining('MAX_INFLIGHT_BYTES') as string;
  const warning = { level: 'warn', reason };
  expect(lines('request failed').slice(0, 2)).toMatchObject([
    { ...warning, requestId: refused.headers.get('x-request-id'), status: 503 },
    { ...warning, requestId: requestIdOf(called), status: 'RESOURCE_EXHAUSTED' },
  ]);
  expect(JSON.stringify(lines('request failed'))).not.toContain(requestIdOf(tooLarge));
});
