import { setTimeout as sleep } from 'node:timers/promises';
import { BEGIN, END_HEADERS, frame, HEADERS, RST_STREAM, tabledHeads } from '../grpc/raw-http2.js';
import { endAll, many, openAll } from './flood.js';
import type { Target } from './target.js';
import { underAttack } from './under-attack.js';

/** As much as the loop reads of a connection before it does anything else. */
const READ_BYTES = 64 * 1024;

/** Connections that have been there for a while all send something at the same moment. */
async function allAtOnce(
  address: string,
  count: number,
  first: Uint8Array | string,
  then: Uint8Array,
): Promise<void> {
  const connections = await openAll(address, count);
  await Promise.all(connections.map(async (connection) => await connection.read().send(first)));
  await sleep(50);
  await Promise.all(connections.map(async (connection) => await connection.send(then)));
  await sleep(500);
  await endAll(connections);
}

type Volley = (target: Target, count: number) => Promise<void>;

function volleyOfHttp(request: string, rest = request): Volley {
  return async ({ server }, count) =>
    await allAtOnce(server.http, count, request, many(rest, READ_BYTES));
}

const [indexed, again] = tabledHeads('/vectordb.VectorDB/SearchPoints');

function volleyOfFrames(callOf: (stream: number, head: Buffer) => Buffer): Volley {
  const calls = [callOf(1, indexed)];
  for (let bytes = 0; bytes < READ_BYTES; bytes += calls.at(-1)?.length ?? 0) {
    calls.push(callOf(2 * calls.length + 1, again));
  }
  const all = Buffer.concat(calls);
  return async ({ server }, count) => await allAtOnce(server.grpc, count, BEGIN, all);
}

const VOLLEYS: readonly (readonly [name: string, volley: Volley])[] = [
  ['thousands of requests on each', volleyOfHttp('GET /health HTTP/1.1\r\nHost: x\r\n\r\n')],
  [
    'thousands of requests that need a key on each',
    volleyOfHttp('POST /points HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1'),
  ],
  [
    'a body in thousands of pieces on each',
    volleyOfHttp(
      'POST /points HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n',
      '1\r\n \r\n',
    ),
  ],
  [
    'thousands of calls on each',
    volleyOfFrames((stream, head) => frame(HEADERS, END_HEADERS, stream, head)),
  ],
  [
    'thousands of calls on each, reset at once',
    volleyOfFrames((stream, head) => {
      const reset = frame(RST_STREAM, 0, stream, Buffer.of(0, 0, 0, 8));
      return Buffer.concat([frame(HEADERS, END_HEADERS, stream, head), reset]);
    }),
  ],
];

underAttack(
  'ten connections at once, none with a key',
  VOLLEYS.map(([name, volley]) => ({
    name,
    strike: async (target) => await volley(target, 10),
  })),
);

underAttack(
  'a hundred connections at once, none with a key',
  VOLLEYS.map(([name, volley]) => ({
    name,
    mayDelay: true,
    strike: async (target) => await volley(target, 100),
  })),
);
