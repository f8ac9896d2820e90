import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { constants } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import * as wire from '../support/wire.js';
import { RawClient } from './client.js';
import { Connection, NO_STATUS, framed } from './http2-call.js';
import {
  connectTo,
  DATA,
  END_HEADERS,
  END_STREAM,
  HEADERS,
  PREFACE,
  RST_STREAM,
  SETTINGS,
  frame,
  headOf,
} from './raw-http2.js';

const MIB = 1024 * 1024;
const CHECK = '/grpc.health.v1.Health/Check';
const EMPTY = Buffer.alloc(0);

let server: TestServer;
let client: RawClient;

beforeAll(async () => {
  server = await startServer({ dimension: 4 });
  client = new RawClient(server.grpc, server.keys.readwrite);
});

afterAll(async () => {
  client.close();
  expect(server.log()).not.toMatch(/"level":"(error|fatal)"/);
});

async function expectServing(): Promise<void> {
  expect((await client.call(CHECK, EMPTY)).code).toBe(status.OK);
  expect((await fetch(`${server.http}/health`)).status).toBe(200);
}

/** The memory of the server, now or at its peak; 0 where the system does not tell. */
function memoryBytes(field: 'VmRSS' | 'VmHWM'): number {
  if (process.platform !== 'linux') return 0;
  const text = readFileSync(`/proc/${server.pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]) * 1024;
}

test('calls without a key that never end are answered and closed', async () => {
  const before = memoryBytes('VmRSS');
  for (let round = 0; round < 20; round += 1) {
    // After some more on one connection, Node.js 20 has its client go on over another.
    const connection = new Connection(server.grpc);
    const calls = Array.from({ length: 250 }, () => connection.open('InsertVector'));
    const codes = await Promise.all(calls.map((call) => call.status));
    expect(new Set(codes)).toEqual(new Set([status.UNAUTHENTICATED]));
    await Promise.all(calls.map((call) => call.closed));
    connection.close();
  }
  expect(memoryBytes('VmRSS') - before).toBeLessThan(100 * MIB);
  await expectServing();
});

test('a call without a key that keeps sending is closed', async () => {
  const connection = new Connection(server.grpc);
  const { stream, status: answered, closed } = connection.open('InsertVectorsBatch');
  for (let sent = 0; sent < 100; sent += 1) stream.write(Buffer.alloc(64 * 1024));
  expect(await answered).toBe(status.UNAUTHENTICATED);
  await closed;
  connection.close();
});

test('one connection has at most 256 calls open', async () => {
  const connection = new Connection(server.grpc);
  await once(connection.session, 'remoteSettings');
  expect(connection.session.remoteSettings.maxConcurrentStreams).toBe(256);
  connection.close();
});

test('calls of open services that never end leave other connections served', async () => {
  const connections = Array.from({ length: 10 }, () => new Connection(server.grpc));
  const before = memoryBytes('VmRSS');
  for (const connection of connections) {
    for (let call = 0; call < 250; call += 1) connection.open(CHECK).stream.write(Buffer.of(0));
  }
  await Promise.all(connections.map((connection) => connection.settled()));
  await expectServing();
  expect(memoryBytes('VmRSS') - before).toBeLessThan(100 * MIB);
  for (const connection of connections) connection.close();
});

test('health and reflection take no more than 4 KiB, also after decompression', async () => {
  const connection = new Connection(server.grpc);
  const name = wire.delimited(1, 'a'.repeat(4_096));
  expect(await connection.call(CHECK, {}, framed(name))).toBe(status.RESOURCE_EXHAUSTED);
  const packed = framed(gzipSync(name), true);
  const code = await connection.call(CHECK, { 'grpc-encoding': 'gzip' }, packed);
  expect(code).toBe(status.RESOURCE_EXHAUSTED);
  connection.close();
});

test('3.8 MB of 1.9 million empty items are RESOURCE_EXHAUSTED and cost little memory', async () => {
  const items = Buffer.alloc(3_800_000);
  for (let at = 0; at < items.length; at += 2) items[at] = 0x0a;
  const before = memoryBytes('VmRSS');
  for (const method of ['InsertVectorsBatch', 'SearchPointsBatch']) {
    const { code, details } = await client.call(method, items);
    expect(code).toBe(status.RESOURCE_EXHAUSTED);
    expect(details).toContain('1900000 items');
  }
  expect(memoryBytes('VmRSS') - before).toBeLessThan(100 * MIB);
});

test('many messages that unpack to 1000 times their size stay within MAX_INFLIGHT_BYTES', async () => {
  const bomb = framed(gzipSync(Buffer.alloc(60 * MIB)), true);
  const connection = new Connection(server.grpc);
  const headers = { authorization: server.keys.readonly, 'grpc-encoding': 'gzip' };
  const codes = await Promise.all(
    Array.from({ length: 40 }, () => connection.call('SearchPoints', headers, bomb)),
  );
  expect(new Set(codes)).toEqual(new Set([status.RESOURCE_EXHAUSTED]));
  expect(memoryBytes('VmHWM')).toBeLessThan(1_500 * MIB);
  await expectServing();
  connection.close();
});

test('calls that are cancelled at once do no harm', async () => {
  const headers = { authorization: server.keys.readwrite };
  for (let round = 0; round < 10; round += 1) {
    const connection = new Connection(server.grpc);
    const calls = Array.from({ length: 200 }, () => connection.open('InsertVector', headers));
    for (const { stream } of calls) stream.close(constants.NGHTTP2_CANCEL);
    await Promise.all(calls.map((call) => call.closed));
    connection.close();
  }
  await expectServing();
});

test('calls whose answers wait when their clients go have not failed', async () => {
  const NO_WINDOW = Buffer.of(0, 4, 0, 0, 0, 0);
  const INTERNAL_ERROR = Buffer.of(0, 0, 0, constants.NGHTTP2_INTERNAL_ERROR);
  const search = '/vectordb.VectorDB/SearchPoints';
  const key: [string, string] = ['authorization', server.keys.readonly];
  const socket = connectTo(server.grpc).resume();
  socket.write(PREFACE);
  socket.write(frame(SETTINGS, 0, 0, NO_WINDOW));
  socket.write(frame(HEADERS, END_HEADERS, 1, headOf(search, key)));
  socket.write(frame(DATA, END_STREAM, 1, framed(wire.searchRequest([1, 2, 3, 4], 1))));
  await sleep(300);
  socket.write(frame(RST_STREAM, 0, 1, INTERNAL_ERROR));
  await sleep(300);
  socket.destroy();
  const metrics = await fetch(`${server.http}/metrics`, {
    headers: { 'api-key': server.keys.readonly },
  });
  expect(await metrics.text()).not.toContain('status="INTERNAL"');
});

test.each([
  ['HTTP/1.1', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['random bytes', Buffer.from('00ff13371337'.repeat(1000), 'hex')],
  ['a broken frame', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u0000\u0000\u0001\u0009\u0000\u0000'],
])('a connection that speaks %s does no harm', async (_, bytes) => {
  const socket = connectTo(server.grpc);
  socket.on('error', () => {});
  socket.write(bytes);
  socket.end();
  socket.resume();
  await once(socket, 'close');
  await expectServing();
});

test('a content type that is not gRPC gets no gRPC answer', async () => {
  const connection = new Connection(server.grpc);
  const { stream, status: answered } = connection.open('InsertVector', {
    'content-type': 'application/json',
    authorization: server.keys.readwrite,
  });
  stream.end('{}');
  expect(await answered).toBe(NO_STATUS);
  connection.close();
});

test('two messages in a call that takes one are refused', async () => {
  const connection = new Connection(server.grpc);
  const message = framed(wire.insertRequest([1, 2, 3, 4], 'x'));
  const headers = { authorization: server.keys.readwrite };
  const code = await connection.call('InsertVector', headers, Buffer.concat([message, message]));
  expect(code).toBe(status.UNIMPLEMENTED);
  const none = await connection.call('InsertVector', headers, EMPTY);
  expect(none).toBe(status.UNIMPLEMENTED);
  connection.close();
});

test('connections that speak no HTTP/2 leave no memory behind', async () => {
  const strike = async (): Promise<void> => {
    const socket = connectTo(server.grpc);
    socket.on('error', () => {});
    socket.write('GET / HTTP/1.1\r\n\r\n');
    await sleep(10);
    socket.resetAndDestroy();
  };
  const strikes = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += 20) {
      await Promise.all(Array.from({ length: 20 }, strike));
    }
  };
  // The first ones fill heap and caches.
  await strikes(8_000);
  const before = memoryBytes('VmRSS');
  await strikes(16_000);
  // What is to be collected takes some 70 MiB. Each once held 12 KiB for ever, 187 MiB together.
  expect(memoryBytes('VmRSS') - before).toBeLessThan(120 * MIB);
}, 60_000);
