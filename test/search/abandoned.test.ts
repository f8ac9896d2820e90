import { connect, type Socket } from 'node:net';
import { constants } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { RawClient } from '../grpc/client.js';
import { Connection, framed, type OpenCall } from '../grpc/http2-call.js';
import { Client } from '../http/client.js';
import { Scrape } from '../observe/exposition.js';
import { openClients, type TestPoint } from '../support/clients.js';
import { startServer, type TestServer } from '../support/server.js';
import * as wire from '../support/wire.js';

const POINTS = 90_000;
const QUERIES = 250;
const DIMENSION = 64;

/** Only double precision can rank it, so that each query goes over all points, for itself. */
const HEAVY = Array<number>(DIMENSION).fill(1e30);
const LIGHT = Array<number>(DIMENSION).fill(1);

/** Takes seconds, so that many of them are not answered in time unless they are given up. */
const GRPC_BATCH = Buffer.concat(
  Array<Buffer>(QUERIES).fill(wire.delimited(1, wire.searchRequest(HEAVY, 1))),
);
const HTTP_BATCH = JSON.stringify({
  queries: Array.from({ length: QUERIES }, () => {
    return { vector: HEAVY, similarity: 'Euclidean', limit: 1 };
  }),
});
/** Of 256, which small ones may take, too. */
const MAX_LARGE_JOBS = 224;
const ABSENT = '9f3c1d52-6f0e-4c8e-9a51-0a4f5f1f6f0b';
const HTTP_REQUESTS = 'vectord_http_requests_total';
const PATIENCE = { timeout: 60_000, interval: 20 };
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

let server: TestServer;
let client: Client;
let caller: RawClient;
let headers: Record<string, string>;
const connections = new Set<Connection>();

beforeAll(async () => {
  server = await startServer({ dimension: DIMENSION });
  client = new Client(server, server.keys.readwrite);
  caller = new RawClient(server.grpc, server.keys.readwrite);
  headers = { authorization: server.keys.readwrite };
  const [, clients] = openClients(server);
  const point = (value: number): TestPoint => {
    return { vector: LIGHT.with(0, value), contentType: 'Text', content: '' };
  };
  await clients.insertBatch(Array.from({ length: POINTS }, (_, index) => point(index)));
  clients.close();
});

afterEach(async () => {
  for (const connection of connections) connection.close();
  connections.clear();
  await expectFree();
});

afterAll(async () => {
  caller.close();
  expect(await server.stop()).toBe(0);
  expect(server.log()).not.toMatch(/"level":"(error|fatal)"/);
});

async function scrape(): Promise<Scrape> {
  return new Scrape((await client.get('/metrics')).text);
}

async function jobs(): Promise<number> {
  return (await scrape()).value('vectord_search_jobs');
}

/** Nothing of what was given up is left, and others are answered. */
async function expectFree(): Promise<void> {
  await vi.waitFor(async () => {
    const now = await scrape();
    expect(now.value('vectord_search_jobs')).toBe(0);
    expect(now.value('vectord_engine_bytes')).toBe(0);
    expect(now.value('vectord_inflight_bytes')).toBe(0);
    expect(now.value('vectord_decoder_waiting')).toBe(0);
  }, PATIENCE);
  expect(await client.search(LIGHT, 'Euclidean', 1)).toHaveLength(1);
}

function connected(): Connection {
  const opened = new Connection(server.grpc);
  connections.add(opened);
  return opened;
}

function beginBatches(on: Connection, count: number, more: Record<string, string> = {}) {
  return Array.from({ length: count }, (): OpenCall => {
    const call = on.open('SearchPointsBatch', { ...headers, ...more });
    call.stream.end(framed(GRPC_BATCH));
    return call;
  });
}

/** Sends a search on a connection of its own. */
function beginHttp(path: string, body: string, version = '1.1'): Socket {
  const { hostname, port } = new URL(server.http);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(
    `POST ${path} HTTP/${version}\r\nHost: x\r\napi-key: ${server.keys.readonly}\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  );
  return socket;
}

async function untilJobs(count: number): Promise<void> {
  await vi.waitFor(async () => expect(await jobs()).toBe(count), PATIENCE);
}

test('batches of gRPC calls that are cancelled are given up, waiting or under way', async () => {
  const calls = beginBatches(connected(), 10);
  await untilJobs(10);
  for (const { stream } of calls) stream.close(constants.NGHTTP2_CANCEL);
  await expectFree();
});

test('so are those of a connection that ends', async () => {
  const ended = connected();
  beginBatches(ended, 10);
  await untilJobs(10);
  ended.close();
  await expectFree();
});

test('so are those whose deadline passes', async () => {
  const calls = beginBatches(connected(), 200, { 'grpc-timeout': '3S' });
  await vi.waitFor(async () => expect(await jobs()).toBeGreaterThan(0), PATIENCE);
  const codes = await Promise.all(calls.map((call) => call.status));
  // Some may have been answered before.
  const late = codes.filter((code) => code !== status.OK);
  expect(late.length).toBeGreaterThan(50);
  expect(new Set(late)).toEqual(new Set([status.DEADLINE_EXCEEDED]));
  await expectFree();
});

test.each(['1.1', '1.0'])(
  'so are those of HTTP connections that end, of HTTP/%s',
  async (version) => {
    const before = await scrape();
    const begin = (): Socket => beginHttp('/points/search/batch', HTTP_BATCH, version);
    const sockets = Array.from({ length: 40 }, begin);
    await untilJobs(40);
    for (const socket of sockets) socket.destroy();
    await expectFree();
    // They ended because nobody waited, and few with an answer, before it was known that nobody does.
    const changes = (await scrape()).since(before, HTTP_REQUESTS);
    expect(changes['{method=POST,route=/points/search/batch,status=499}']).toBeGreaterThan(20);
  },
);

test('but not those of a client that ends only its half of the connection', async () => {
  const sockets = [1, 2].map(() => beginHttp('/points/search/batch', HTTP_BATCH));
  const answers = sockets.map(async (socket) => {
    let answer = '';
    for await (const piece of socket.end().setEncoding('latin1')) answer += piece;
    return answer;
  });
  for (const answer of await Promise.all(answers)) {
    // It is asked each second whether it is still there.
    expect(answer).toMatch(/^(HTTP\/1\.1 100 Continue\r\n\r\n)*HTTP\/1\.1 200 [^]*\]\]\}$/);
  }
});

test('a single search that is heavy is given up, too', async () => {
  const calls = beginBatches(connected(), 10);
  await untilJobs(10);
  // By its breadth it is more work than the batches, so it waits for them.
  const ef = 2 ** 32 - 1;
  const body = JSON.stringify({ vector: HEAVY, similarity: 'Euclidean', limit: POINTS, ef });
  const socket = beginHttp('/points/search', body);
  const other = connected().open('SearchPoints', headers);
  const message = Buffer.concat([wire.searchRequest(HEAVY, POINTS), wire.integer(4, ef)]);
  other.stream.end(framed(message));
  await untilJobs(12);
  socket.destroy();
  other.stream.close(constants.NGHTTP2_CANCEL);
  await untilJobs(10);
  for (const { stream } of calls) stream.close(constants.NGHTTP2_CANCEL);
  await expectFree();
});

test('beyond a number of them others are 503 or RESOURCE_EXHAUSTED, until there is room', async () => {
  const calls = [connected(), connected()].flatMap((each) => beginBatches(each, 140));
  await untilJobs(MAX_LARGE_JOBS);
  const message = `${MAX_LARGE_JOBS} batch searches are under way; try again`;
  const http = await client.post('/points/search/batch', HTTP_BATCH);
  expect([http.status, http.headers.get('retry-after')]).toEqual([503, '1']);
  expect(http.text).toBe(message);
  const grpc = await caller.call('SearchPointsBatch', GRPC_BATCH);
  expect([grpc.code, grpc.details]).toEqual([status.RESOURCE_EXHAUSTED, message]);
  // A batch that takes little is answered, and so is whatever does not wait for them.
  const query = { vector: LIGHT, similarity: 'Euclidean', limit: 1 };
  const queries = JSON.stringify({ queries: Array.from({ length: 4 }, () => query) });
  expect((await client.post('/points/search/batch', queries)).status).toBe(200);
  expect((await client.get(`/points/${ABSENT}`)).status).toBe(404);
  expect(
    (await caller.call('DeletePoint', wire.delimited(1, wire.delimited(1, ABSENT)))).code,
  ).toBe(status.NOT_FOUND);
  expect((await client.get('/health')).status).toBe(200);
  for (const { stream } of calls) stream.close(constants.NGHTTP2_CANCEL);
  await expectFree();
});

describe('a gRPC call whose deadline has passed', () => {
  test.each(['0m', '1n', '0H'])('is answered at once, and nothing is done: %s', async (timeout) => {
    const before = (await scrape()).value('vectord_points');
    const insert = framed(wire.insertRequest(LIGHT, 'x'));
    const late = { ...headers, 'grpc-timeout': timeout };
    expect(await connected().call('InsertVector', late, insert)).toBe(status.DEADLINE_EXCEEDED);
    // Before its message has come, too.
    const { status: answered } = connected().open('InsertVector', late);
    expect(await answered).toBe(status.DEADLINE_EXCEEDED);
    expect((await scrape()).value('vectord_points')).toBe(before);
  });

  test('still needs a key', async () => {
    const { status: answered } = connected().open('InsertVector', { 'grpc-timeout': '0m' });
    expect(await answered).toBe(status.UNAUTHENTICATED);
  });

  test.each(['1000H', '99999999H', '99999999M', '99999999S', '2147484S', '99999999m'])(
    'is none that has %s left',
    async (timeout) => {
      const search = framed(wire.searchRequest(LIGHT, 1));
      const early = { ...headers, 'grpc-timeout': timeout };
      expect(await connected().call('SearchPoints', early, search)).toBe(status.OK);
    },
  );
});
