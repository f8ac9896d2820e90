import { setTimeout as sleep } from 'node:timers/promises';
import { BEGIN, END_HEADERS, frame, HEADERS, RST_STREAM, tabledHeads } from '../grpc/raw-http2.js';
import { endAll, many, openAll } from './flood.js';
import type { Target } from './target.js';
import { underAttack } from './under-attack.js';

/** As much as the loop reads of a connection before it does anything else. */
const READ_BYTES = 64 * 1024;
const CONNECTIONS = 100;

/** Connections that have been there for a while all send something at the same moment. */
async function allAtOnce(
  address: string,
  first: Uint8Array | string,
  then: Uint8Array,
): Promise<void> {
  const connections = await openAll(address, CONNECTIONS);
  await Promise.all(connections.map(async (connection) => await connection.read().send(first)));
  await sleep(50);
  await Promise.all(connections.map(async (connection) => await connection.send(then)));
  await sleep(500);
  await endAll(connections);
}

function volleyOfHttp(request: string, rest = request) {
  return async ({ server }: Target): Promise<void> =>
    await allAtOnce(server.http, request, many(rest, READ_BYTES));
}

const [indexed, again] = tabledHeads('/vectordb.VectorDB/SearchPoints');

function volleyOfFrames(callOf: (stream: number, head: Buffer) => Buffer) {
  const calls = [callOf(1, indexed)];
  for (let bytes = 0; bytes < READ_BYTES; bytes += calls.at(-1)?.length ?? 0) {
    calls.push(callOf(2 * calls.length + 1, again));
  }
  const all = Buffer.concat(calls);
  return async ({ server }: Target): Promise<void> => await allAtOnce(server.grpc, BEGIN, all);
}

underAttack('a hundred connections at once, none with a key', [
  {
    name: 'thousands of requests on each',
    strike: volleyOfHttp('GET /health HTTP/1.1\r\nHost: x\r\n\r\n'),
  },
  {
    name: 'thousands of requests that need a key on each',
    strike: volleyOfHttp('POST /points HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1'),
  },
  {
    name: 'a body in thousands of pieces on each',
    strike: volleyOfHttp(
      'POST /points HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n',
      '1\r\n \r\n',
    ),
  },
  {
    name: 'thousands of calls on each',
    strike: volleyOfFrames((stream, head) => frame(HEADERS, END_HEADERS, stream, head)),
  },
  {
    name: 'thousands of calls on each, reset at once',
    strike: volleyOfFrames((stream, head) => {
      const reset = frame(RST_STREAM, 0, stream, Buffer.of(0, 0, 0, 8));
      return Buffer.concat([frame(HEADERS, END_HEADERS, stream, head), reset]);
    }),
  },
]);
