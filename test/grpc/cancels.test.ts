import { once } from 'node:events';
import { constants } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import * as wire from '../support/wire.js';
import { RawClient } from './client.js';
import { Connection, framed } from './http2-call.js';

/** What says that a connection takes no more calls, and that all that were begun are answered. */
const MOVE = [constants.NGHTTP2_NO_ERROR, 2 ** 31 - 1];
const SEARCH = framed(wire.searchRequest([1, 2, 3, 4], 1));

let server: TestServer;
let headers: Record<string, string>;

beforeAll(async () => {
  server = await startServer({ dimension: 4 });
  headers = { authorization: server.keys.readwrite };
});

/** Cancels calls, round by round, until the service says something about it; answers what. */
async function untilTold(
  cancelSome: (connection: Connection) => Promise<unknown>,
  rounds: number,
): Promise<unknown> {
  const connection = new Connection(server.grpc);
  onTestFinished(() => connection.close());
  const told: unknown[] = [];
  connection.session.on('goaway', (code, last) => told.push([code, last]));
  const other = connection.open('SearchPoints', headers);
  await connection.settled();
  for (let round = 0; round < rounds && told.length === 0; round += 1) {
    await cancelSome(connection);
  }
  other.stream.end(SEARCH);
  expect(await other.status).toBe(status.OK);
  return told[0];
}

test('who cancels calls within their answers is told to go on over another connection', async () => {
  const client = new RawClient(server.grpc, server.keys.readwrite);
  const content = 'x'.repeat(400_000);
  const { message } = await client.call('InsertVector', wire.insertRequest([1, 2, 3, 4], content));
  client.close();
  // Its only field is the id, as is that of the request.
  const get = framed(message as Buffer);
  const told = await untilTold(async (connection) => {
    const { stream, closed } = connection.open('GetPoint', headers);
    stream.pause().end(get);
    // More than a client takes that does not read.
    await Promise.race([once(stream, 'response'), closed]);
    stream.close(constants.NGHTTP2_CANCEL);
    await closed;
  }, 120);
  expect(told).toEqual(MOVE);
});

// Later versions have a limit that the service sets.
const isNode20 = process.versions.node.startsWith('20.');

test.runIf(isNode20)('who cancels more calls than nghttp2 allows is told so, too', async () => {
  const told = await untilTold(async (connection) => {
    const calls = Array.from({ length: 50 }, () => connection.open('SearchPoints', headers));
    for (const { stream } of calls) stream.close(constants.NGHTTP2_CANCEL);
    await Promise.all(calls.map((call) => call.closed));
  }, 60);
  expect(told).toEqual(MOVE);
});

/** Has 50 calls refused for their flag, which is none, before they end or at their end. */
async function failSome(connection: Connection, areEnded: boolean): Promise<void> {
  const calls = Array.from({ length: 50 }, () => connection.open('SearchPoints', headers));
  const message = Buffer.of(9, 0, 0, 0, 0);
  for (const { stream } of calls) {
    if (areEnded) stream.end(message);
    else stream.write(message);
  }
  const codes = await Promise.all(calls.map((call) => call.status));
  expect(new Set(codes)).toEqual(new Set([status.INVALID_ARGUMENT]));
  await Promise.all(calls.map((call) => call.closed));
}

test.runIf(isNode20)(
  'who goes on sending calls that are answered may reset them, and is told so',
  async () => {
    const told = await untilTold((connection) => failSome(connection, false), 60);
    expect(told).toEqual(MOVE);
  },
);

test('who ends the calls that are refused is told nothing', async () => {
  expect(await untilTold((connection) => failSome(connection, true), 30)).toBe(undefined);
});
