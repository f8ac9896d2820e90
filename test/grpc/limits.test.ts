import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { constants, type IncomingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { deflateSync, gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { UpsertStreamRequest } from '../../src/gen/vectord/v1/points.js';
import { SearchPointsBatchResponse } from '../../src/gen/vectordb/vectordb.js';
import { untilInflight } from '../support/inflight.js';
import { startServer, type TestServer } from '../support/server.js';
import * as wire from '../support/wire.js';
import { RawClient } from './client.js';
import { Connection, framed, NO_STATUS, type OpenCall } from './http2-call.js';
import {
  BEGIN,
  connectTo,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  framesIn,
  GOAWAY,
  HEADERS,
  headOf,
  PREFACE,
  RST_STREAM,
  resetCalls,
  SETTINGS,
  WINDOW_UPDATE,
} from './raw-http2.js';

const MAX_REQUEST_BYTES = 10_000;
const LIMITS = {
  MAX_REQUEST_BYTES: String(MAX_REQUEST_BYTES),
  MAX_BATCH: '3',
  MAX_CONTENT_BYTES: '10',
  MAX_SEARCH_WORK: '150',
  MAX_INFLIGHT_BYTES: '30000',
};
const VALUES = [1, 2, 3, 4];

let server: TestServer;
let client: RawClient;
let connection: Connection;
let headers: Record<string, string>;

beforeAll(async () => {
  server = await startServer({ env: LIMITS });
  client = new RawClient(server.grpc, server.keys.readwrite);
  connection = new Connection(server.grpc);
  headers = { authorization: server.keys.readwrite };
});

afterAll(async () => {
  client.close();
  connection.close();
});

/** An insert of exactly this size; an unknown field fills it up. */
function sized(bytes: number): Buffer {
  const insert = wire.insertRequest(VALUES, 'x');
  for (let filler = bytes - insert.length - 8; ; filler += 1) {
    const request = Buffer.concat([insert, wire.delimited(9, Buffer.alloc(filler))]);
    if (request.length === bytes) return request;
  }
}

/** The parts of a message that fit into frames. */
function chunksOf(bytes: Buffer): Buffer[] {
  const most = 16_384;
  return Array.from({ length: Math.ceil(bytes.length / most) }, (_, index) =>
    bytes.subarray(index * most, (index + 1) * most),
  );
}

describe('MAX_REQUEST_BYTES', () => {
  test('a message of that size is accepted, one more byte is RESOURCE_EXHAUSTED', async () => {
    expect(await client.call('InsertVector', sized(MAX_REQUEST_BYTES))).toMatchObject({ code: 0 });
    const answer = await client.call('InsertVector', sized(MAX_REQUEST_BYTES + 1));
    expect(answer.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(answer.details).toBe(
      `the message has ${MAX_REQUEST_BYTES + 1} bytes, at most ${MAX_REQUEST_BYTES} are allowed ` +
        '(MAX_REQUEST_BYTES)',
    );
  });

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ] as const)('a message in %s counts at its decompressed size', async (encoding, compress) => {
    const send = async (bytes: number): Promise<number> => {
      const message = framed(compress(sized(bytes)), true);
      return await connection.call(
        'InsertVector',
        { ...headers, 'grpc-encoding': encoding },
        message,
      );
    };
    expect(await send(MAX_REQUEST_BYTES)).toBe(status.OK);
    expect(await send(MAX_REQUEST_BYTES + 1)).toBe(status.RESOURCE_EXHAUSTED);
  });

  test('a length that is announced is refused before it is sent', async () => {
    const { stream, status: answered } = connection.open('InsertVector', headers);
    stream.write(Buffer.of(0, 0xff, 0xff, 0xff, 0xff));
    expect(await answered).toBe(status.RESOURCE_EXHAUSTED);
  });
});

test('a message that is not what its encoding says is INVALID_ARGUMENT', async () => {
  const encoded = { ...headers, 'grpc-encoding': 'gzip' };
  const broken = framed(Buffer.from('not gzip'), true);
  expect(await connection.call('InsertVector', encoded, broken)).toBe(status.INVALID_ARGUMENT);
  const cut = framed(gzipSync(sized(200)).subarray(0, 50), true);
  expect(await connection.call('InsertVector', encoded, cut)).toBe(status.INVALID_ARGUMENT);
});

test('an unknown encoding is UNIMPLEMENTED', async () => {
  const encoded = { ...headers, 'grpc-encoding': 'snappy' };
  const message = framed(Buffer.from('x'), true);
  expect(await connection.call('InsertVector', encoded, message)).toBe(status.UNIMPLEMENTED);
});

test.each([
  ['InsertVectorsBatch', wire.delimited(1, wire.insertRequest(VALUES, 'x')), 'vectors'],
  [
    'SearchPointsBatch',
    wire.delimited(1, wire.searchRequest(VALUES, 1), wire.integer(4, 1)),
    'queries',
  ],
])('MAX_BATCH: more items in %s are RESOURCE_EXHAUSTED', async (method, item, field) => {
  const batch = (count: number): Buffer => Buffer.concat(Array<Buffer>(count).fill(item));
  for (const count of [0, 3])
    expect((await client.call(method, batch(count))).code).toBe(status.OK);
  const { code, details } = await client.call(method, batch(4));
  expect(code).toBe(status.RESOURCE_EXHAUSTED);
  expect(details).toBe(`${field} has 4 items, at most 3 are allowed (MAX_BATCH)`);
});

test('MAX_CONTENT_BYTES: longer content is RESOURCE_EXHAUSTED, in bytes of UTF-8', async () => {
  const insert = (content: string): Buffer => wire.insertRequest(VALUES, content);
  expect((await client.call('InsertVector', insert('é'.repeat(5)))).code).toBe(status.OK);
  const answer = await client.call('InsertVector', insert('é'.repeat(6)));
  expect(answer.code).toBe(status.RESOURCE_EXHAUSTED);
  expect(answer.details).toContain('payload.content has 12 bytes');
  const batch = await client.call('InsertVectorsBatch', wire.delimited(1, insert('é'.repeat(6))));
  expect(batch.details).toContain('vectors[0]: payload.content');
});

test('content far beyond MAX_CONTENT_BYTES is refused by that name', async () => {
  const own = await startServer({ dimension: 4 });
  onTestFinished(() => own.kill());
  const caller = new RawClient(own.grpc, own.keys.readwrite);
  onTestFinished(() => caller.close());
  const insert = wire.insertRequest(VALUES, 'x'.repeat(2 * 1024 * 1024));
  const { code, details } = await caller.call('InsertVector', insert);
  expect(code).toBe(status.RESOURCE_EXHAUSTED);
  expect(details).toContain('at most (by MAX_CONTENT_BYTES and DIMENSION)');
});

test('MAX_SEARCH_WORK: a batch that asks for more is RESOURCE_EXHAUSTED, one query is not', async () => {
  const query = wire.delimited(1, wire.searchRequest(VALUES, 1), wire.integer(4, 200));
  const { code, details } = await client.call('SearchPointsBatch', Buffer.concat([query, query]));
  expect(code).toBe(status.RESOURCE_EXHAUSTED);
  expect(details).toContain('MAX_SEARCH_WORK');
  expect((await client.call('SearchPointsBatch', query)).code).toBe(status.OK);
});

describe('MAX_CONNECTIONS', () => {
  const WATCH = '/grpc.health.v1.Health/Watch';
  const SEARCH = framed(wire.searchRequest(VALUES, 1));

  test('one more is closed at once, the others go on, and there is room again when one ends', async () => {
    const small = await startServer({ env: { MAX_CONNECTIONS: '2' } });
    const [one, other] = [await beginSearch(small), await beginSearch(small)];
    const more = new Connection(small.grpc);
    await closed(more);
    for (const { call } of [one, other]) {
      call.stream.end(SEARCH);
      expect(await call.status).toBe(status.OK);
    }
    for (const { from } of [one, other]) from.close();
    await vi.waitFor(async () => {
      const next = new Connection(small.grpc);
      expect(await next.call('SearchPoints', headers, SEARCH)).toBe(status.OK);
      next.close();
    }, 10_000);
    expect(await small.stop()).toBe(0);
  });

  test('the one without a key for longest gives way, whatever else it asks for', async () => {
    // Each loop chooses among its own.
    const small = await startServer({ env: { MAX_CONNECTIONS: '3', LOOPS: '1' } });
    const busy = await beginSearch(small);
    const watching = await beginWatch(small);
    const idle = new Connection(small.grpc);
    await closed(watching);
    expect(idle.session.destroyed).toBe(false);
    // Who watches too, but has made a call with a key, has been without one for less long.
    const next = await vi.waitFor(async () => await beginWatch(small), 10_000);
    expect(await next.call('SearchPoints', headers, SEARCH)).toBe(status.OK);
    await closed(idle);
    expect(next.session.destroyed).toBe(false);
    busy.call.stream.end(SEARCH);
    expect(await busy.call.status).toBe(status.OK);
    for (const each of [busy.from, next]) each.close();
    expect(await small.stop()).toBe(0);
  });

  test('one with a key that may not make its call gives way after those without a key', async () => {
    const small = await startServer({ env: { MAX_CONNECTIONS: '3', LOOPS: '1' } });
    const reader = new Connection(small.grpc);
    const key = { authorization: small.keys.readonly };
    expect(await reader.call('DeletePoint', key, SEARCH)).toBe(status.PERMISSION_DENIED);
    // Longer than a connection without a key may be silent.
    await sleep(1_500);
    const silent = Array.from({ length: 4 }, () => new Connection(small.grpc));
    const gone = (): number => silent.filter(({ session }) => session.destroyed).length;
    await vi.waitFor(() => expect(gone()).toBeGreaterThanOrEqual(2), 20_000);
    expect(await reader.call('SearchPoints', key, SEARCH)).toBe(status.OK);
    for (const one of [reader, ...silent]) one.close();
    expect(await small.stop()).toBe(0);
  });

  test('one gives way whose client reads nothing', async () => {
    const small = await startServer({ env: { MAX_CONNECTIONS: '2' } });
    const unread = [askUnread(small), askUnread(small)];
    await Promise.all(unread.map(async (socket) => await once(socket, 'connect')));
    await vi.waitFor(async () => {
      const next = new Connection(small.grpc);
      expect(await next.call('SearchPoints', headers, SEARCH)).toBe(status.OK);
      next.close();
    }, 20_000);
    for (const socket of unread) socket.destroy();
    expect(await small.stop()).toBe(0);
  });

  /** Asks without a key for more than sockets hold, and reads none of it. */
  function askUnread(target: TestServer): Socket {
    const MOST = 2 ** 31 - 1;
    const uint32 = (value: number): Buffer =>
      Buffer.from(value.toString(16).padStart(8, '0'), 'hex');
    const question = framed(wire.delimited(4, 'vectordb.VectorDB'));
    const head = headOf('/grpc.reflection.v1.ServerReflection/ServerReflectionInfo');
    const calls = [1, 3, 5, 7].flatMap((stream) => [
      frame(HEADERS, END_HEADERS, stream, head),
      ...chunksOf(Buffer.concat(Array(2_000).fill(question))).map((chunk) =>
        frame(DATA, 0, stream, chunk),
      ),
    ]);
    const socket = connectTo(target.grpc).pause();
    socket.on('error', () => {});
    socket.write(
      Buffer.concat([
        Buffer.from(PREFACE),
        frame(SETTINGS, 0, 0, Buffer.concat([Buffer.of(0, 4), uint32(MOST)])),
        frame(WINDOW_UPDATE, 0, 0, uint32(MOST - 65_535)),
        ...calls,
      ]),
    );
    return socket;
  }

  /** A call that has been received as far as it goes: without its message. */
  async function beginSearch(target: TestServer) {
    const from = new Connection(target.grpc);
    const call = from.open('SearchPoints', headers);
    await from.settled();
    return { from, call };
  }

  async function beginWatch(target: TestServer): Promise<Connection> {
    const from = new Connection(target.grpc);
    const { stream, closed: ended } = from.open(WATCH);
    stream.end(framed(Buffer.alloc(0)));
    const isAnswered = await Promise.race([once(stream, 'data').then(() => true), ended]);
    expect(isAnswered, 'the watch is answered').toBe(true);
    return from;
  }

  async function closed({ session }: Connection): Promise<void> {
    if (!session.closed) await new Promise((resolve) => session.once('close', resolve));
  }
});

test('metadata of more than 16 KiB is refused, and the connection goes on', async () => {
  const metadata = (bytes: number) => ({ ...headers, 'x-filler': 'x'.repeat(bytes) });
  const search = framed(wire.searchRequest(VALUES, 1));
  expect(await connection.call('SearchPoints', metadata(10_000), search)).toBe(status.OK);
  expect(await connection.call('SearchPoints', metadata(20_000), search)).toBe(NO_STATUS);
  expect(await connection.call('SearchPoints', headers, search)).toBe(status.OK);
});

test.skipIf(process.platform !== 'linux')(
  'a message is unpacked no further once its call has ended',
  async () => {
    const MIB = 1024 * 1024;
    const own = await startServer();
    const memoryMib = (field: string): number => {
      const text = readFileSync(`/proc/${own.pid}/status`, 'utf8');
      return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]) / 1024;
    };
    const calmMib = memoryMib('VmRSS');
    const message = framed(gzipSync(Buffer.alloc(62 * MIB)), true);
    const head = headOf('/grpc.health.v1.Health/Check', ['grpc-encoding', 'gzip']);
    const begin = Buffer.concat([
      BEGIN,
      frame(HEADERS, END_HEADERS, 1, head),
      ...chunksOf(message.subarray(0, -10)).map((chunk) => frame(DATA, 0, 1, chunk)),
    ]);
    // The end of each message and its reset come together.
    const end = Buffer.concat([
      frame(DATA, 0, 1, message.subarray(-10)),
      frame(RST_STREAM, 0, 1, Buffer.of(0, 0, 0, 8)),
    ]);
    const sockets = Array.from({ length: 16 }, () => connectTo(own.grpc).resume());
    for (const socket of sockets) socket.write(begin);
    await sleep(300);
    for (const socket of sockets) socket.write(end);
    await sleep(1_000);
    expect(memoryMib('VmHWM') - calmMib).toBeLessThan(200);
    for (const socket of sockets) socket.destroy();
    expect(await own.stop()).toBe(0);
  },
);

describe('calls that are open', () => {
  test('those for health take no room from others, and 4 of them each connection may have', async () => {
    const own = await startServer();
    const ownHeaders = { authorization: own.keys.readonly };
    const watch = '/grpc.health.v1.Health/Watch';
    const search = framed(wire.searchRequest(VALUES, 1));
    const known = async (): Promise<Connection> => {
      const from = new Connection(own.grpc);
      expect(await from.call('SearchPoints', ownHeaders, search)).toBe(status.OK);
      return from;
    };
    // Of connections without a key only a few are read at a time.
    const crowd = await Promise.all(Array.from({ length: 9 }, known));
    const watching = crowd.flatMap((each) => Array.from({ length: 120 }, () => each.open(watch)));
    for (const { stream } of watching) stream.end(framed(Buffer.alloc(0)));
    // None is refused before there are as many as there may be.
    expect(await Promise.race(watching.map((call) => call.status))).toBe(status.RESOURCE_EXHAUSTED);
    const other = await known();
    const seen = Array.from({ length: 6 }, () => other.open(watch));
    for (const { stream } of seen) stream.end(framed(Buffer.alloc(0)));
    expect(await seen[4]?.status).toBe(status.RESOURCE_EXHAUSTED);
    expect(await seen[5]?.status).toBe(status.RESOURCE_EXHAUSTED);
    for (const { stream } of seen.slice(0, 4)) expect(stream.closed).toBe(false);
    const [answer] = (await once(other.open(watch).stream, 'response')) as [IncomingHttpHeaders];
    expect(answer['x-request-id']).toMatch(/^[-0-9a-f]{36}$/);
    expect(own.log()).toContain('too many calls are open');
    const metrics = await fetch(`${own.http}/metrics`, {
      headers: { 'api-key': own.keys.readonly },
    });
    expect(await metrics.text()).toMatch(/Watch",status="RESOURCE_EXHAUSTED"\} [1-9]/);
    expect(await other.call('SearchPoints', ownHeaders, search)).toBe(status.OK);
    for (const each of [...crowd, other]) each.close();
    expect(await own.stop()).toBe(0);
  });
});

describe('calls that are reset', () => {
  const SEARCH = '/vectordb.VectorDB/SearchPoints';
  const message = framed(wire.searchRequest(VALUES, 1));
  const withKey = (): [string, string] => ['authorization', server.keys.readonly];

  /** A search on this stream, with a key. */
  function search(stream: number): Buffer {
    return Buffer.concat([
      frame(HEADERS, END_HEADERS, stream, headOf(SEARCH, withKey())),
      frame(DATA, END_STREAM, stream, message),
    ]);
  }

  /** The code of the GOAWAY with which a connection ends on which all this comes at once. */
  async function endOf(frames: Buffer, of = server): Promise<number | undefined> {
    const socket = connectTo(of.grpc);
    socket.write(Buffer.concat([BEGIN, frames]));
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    const goAway = framesIn(Buffer.concat(chunks)).find(({ type }) => type === GOAWAY);
    return goAway?.content.readUInt32BE(4);
  }

  /** Which of these types the first frame has that has one of them. */
  async function firstOf(types: readonly number[], socket: Socket): Promise<number | undefined> {
    let received = Buffer.alloc(0);
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk as Buffer]);
      const found = framesIn(received).find(({ type }) => types.includes(type));
      if (found !== undefined) return found.type;
    }
    return undefined;
  }

  test('a client may reset all calls that it may have open, and go on', async () => {
    const own = new Connection(server.grpc);
    expect(await own.call('SearchPoints', headers, message)).toBe(status.OK);
    const open = Array.from({ length: 256 }, () => own.open('SearchPoints', headers));
    await own.settled();
    for (const { stream } of open) stream.close(constants.NGHTTP2_CANCEL);
    await Promise.all(open.map((call) => call.closed));
    // Node.js may send the next call before the last resets, where it would be one too many.
    await own.settled();
    expect(await own.call('SearchPoints', headers, message)).toBe(status.OK);
    own.close();
  });

  test('a client may reset calls and open others at once', async () => {
    const own = new Connection(server.grpc);
    expect(await own.call('SearchPoints', headers, message)).toBe(status.OK);
    // After more than these a client is told to go on over another connection, on Node.js 20.
    for (let round = 0; round < 3; round += 1) {
      const open = Array.from({ length: 100 }, () => own.open('SearchPoints', headers));
      await own.settled();
      for (const { stream } of open) stream.close(constants.NGHTTP2_CANCEL);
      const others = Array.from({ length: 128 }, () => own.call('SearchPoints', headers, message));
      expect(new Set(await Promise.all(others))).toEqual(new Set([status.OK]));
    }
    own.close();
  });

  test.skipIf(process.version.startsWith('v20.'))(
    'a client may go on resetting more calls than nghttp2 would have it',
    async () => {
      const own = new Connection(server.grpc);
      expect(await own.call('SearchPoints', headers, message)).toBe(status.OK);
      for (let round = 0; round < 12; round += 1) {
        const open = Array.from({ length: 100 }, () => own.open('SearchPoints', headers));
        await own.settled();
        for (const { stream } of open) stream.close(constants.NGHTTP2_CANCEL);
        await sleep(300);
      }
      expect(await own.call('SearchPoints', headers, message)).toBe(status.OK);
      own.close();
    },
  );

  test('a connection without a key that resets many at once is closed', async () => {
    const frames = resetCalls(SEARCH, 1, 400);
    expect(await endOf(frames)).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });

  test('calls that were read of a connection by the time it is closed are not looked at', async () => {
    const own = await startServer();
    const frames = resetCalls(SEARCH, 1, 400);
    expect(await endOf(frames, own)).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    const response = await fetch(`${own.http}/metrics`, {
      headers: { 'api-key': own.keys.readonly },
    });
    const refused = /SearchPoints",status="UNAUTHENTICATED"\} (\d+)/.exec(await response.text());
    const count = Number(refused?.[1]);
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThan(100);
    expect(await own.stop()).toBe(0);
  });

  test('one with a key is not taken for one without while the service is busy', async () => {
    const busy = new Connection(server.grpc);
    expect(await busy.call('SearchPoints', headers, message)).toBe(status.OK);
    for (let round = 0; round < 10; round += 1) {
      const others = Array.from({ length: 250 }, () => busy.call('SearchPoints', headers, message));
      const socket = connectTo(server.grpc);
      socket.write(Buffer.concat([BEGIN, resetCalls(SEARCH, 1, 60, withKey()), search(121)]));
      expect(await firstOf([DATA, GOAWAY], socket)).toBe(DATA);
      socket.destroy();
      expect(new Set(await Promise.all(others))).toEqual(new Set([status.OK]));
    }
    busy.close();
  });

  test('a client is served while others at its address are closed for it, a new one afterwards', async () => {
    const kept = new Connection(server.grpc);
    expect(await kept.call('SearchPoints', headers, message)).toBe(status.OK);
    const others = new AbortController();
    const strike = async (): Promise<void> => {
      while (!others.signal.aborted) {
        const socket = connectTo(server.grpc).resume();
        socket.on('error', () => {});
        socket.write(Buffer.concat([BEGIN, resetCalls(SEARCH, 1, 1_300)]));
        await Promise.race([once(socket, 'close'), sleep(300)]);
        socket.destroy();
      }
    };
    const strikes = Array.from({ length: 8 }, strike);
    await sleep(2_000);
    expect(await kept.call('SearchPoints', headers, message)).toBe(status.OK);
    kept.close();
    others.abort();
    await Promise.all(strikes);
    await vi.waitFor(async () => {
      const own = new Connection(server.grpc);
      expect(await own.call('SearchPoints', headers, message)).toBe(status.OK);
      own.close();
    }, 20_000);
  });

  test('one without a key is closed sooner', async () => {
    expect(await endOf(resetCalls(SEARCH, 1, 100))).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
});

describe('MAX_INFLIGHT_BYTES', () => {
  const insert = wire.insertRequest(VALUES, 'x');

  test('requests of more in all, half-sent ones too, are RESOURCE_EXHAUSTED', async () => {
    const calls = [1, 2, 3].map(() => connection.open('InsertVector', headers));
    for (const { stream } of calls) stream.write(framed(sized(9_990)).subarray(0, -1));
    await untilInflight(server, 3 * 9_989);
    const answer = await client.call('InsertVector', insert);
    expect(answer.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(answer.details).toContain('MAX_INFLIGHT_BYTES');
    for (const { stream } of calls) stream.close();
    await untilInflight(server, 0);
    expect((await client.call('InsertVector', insert)).code).toBe(status.OK);
  });

  test('what comes while answers are not read counts too', async () => {
    const own = await startServer({ env: { MAX_INFLIGHT_BYTES: '4000000' } });
    const unread = new Connection(own.grpc);
    unread.session.settings({ initialWindowSize: 0 });
    // Its answer is more than is kept for a client, and 16 more messages wait for their handler.
    const point = { id: '', vector: VALUES, content: '', contentType: 0, metadata: '' };
    const upsert = {
      points: Array.from({ length: 450 }, () => point),
      ifAbsent: false,
      collection: '',
    };
    const first = framed(UpsertStreamRequest.encode(upsert).finish());
    const sent = Buffer.concat([first, Buffer.alloc(16 * 5), framed(Buffer.alloc(2_000_000))]);
    const open = (): OpenCall => {
      const call = unread.open('/vectord.v1.PointsService/UpsertStream', headers);
      call.stream.write(sent);
      return call;
    };
    const fitting = open();
    await untilInflight(own, 2_000_000);
    const tooMuch = open();
    await vi.waitFor(async () => {
      const asked = await fetch(`${own.http}/metrics`, {
        headers: { 'api-key': own.keys.readonly },
      });
      expect(await asked.text()).toContain('status="RESOURCE_EXHAUSTED"');
    }, 10_000);
    unread.session.settings({ initialWindowSize: 65_535 });
    expect(await tooMuch.status).toBe(status.RESOURCE_EXHAUSTED);
    fitting.stream.close();
    await untilInflight(own, 0);
    unread.close();
    expect(await own.stop()).toBe(0);
  });

  test('what a message unpacks to counts too', async () => {
    // Messages that have not ended hold what is left of the budget.
    const calls = [1, 2, 3].map(() => connection.open('InsertVector', headers));
    for (const { stream } of calls) stream.write(framed(sized(9_000)).subarray(0, 8_000));
    await untilInflight(server, 3 * 8_000);
    const encoded = { ...headers, 'grpc-encoding': 'gzip' };
    const message = framed(gzipSync(sized(9_000)), true);
    const insertPacked = async () => await connection.call('InsertVector', encoded, message);
    expect(await insertPacked()).toBe(status.RESOURCE_EXHAUSTED);
    for (const { stream } of calls) stream.close();
    await untilInflight(server, 0);
    expect(await insertPacked()).toBe(status.OK);
  });

  test('any large answer counts until it has been read', async () => {
    const own = await startServer({ env: { MAX_INFLIGHT_BYTES: '4000000' } });
    const asking = new RawClient(own.grpc, own.keys.readwrite);
    const large = wire.insertRequest(VALUES, 'x'.repeat(1_000_000));
    const { message: id = Buffer.alloc(0) } = await asking.call('InsertVector', large);
    const unread = new Connection(own.grpc);
    const calls = Array.from({ length: 6 }, () => unread.open('GetPoint', headers));
    for (const { stream } of calls) {
      stream.pause();
      stream.end(framed(id));
    }
    expect(await Promise.race(calls.map((call) => call.status))).toBe(status.RESOURCE_EXHAUSTED);
    const answer = await asking.call('GetPoint', id);
    expect(answer.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(answer.details).toContain('MAX_INFLIGHT_BYTES');
    unread.close();
    await vi.waitFor(async () => {
      expect((await asking.call('GetPoint', id)).code).toBe(status.OK);
    }, 10_000);
    asking.close();
    expect(await own.stop()).toBe(0);
  });

  test('a large message and the arrays that it becomes count once', async () => {
    const most = { MAX_REQUEST_BYTES: '1000000', MAX_INFLIGHT_BYTES: '1000000' };
    const own = await startServer({ env: most });
    const caller = new RawClient(own.grpc, own.keys.readwrite);
    onTestFinished(() => caller.close());
    const large = wire.insertRequest(VALUES, 'x'.repeat(600_000));
    const one = await caller.call('InsertVector', large);
    const batch = await caller.call('InsertVectorsBatch', wire.delimited(1, large));
    expect([one.code, batch.code]).toEqual([status.OK, status.OK]);
    await untilInflight(own, 0);
  });

  test('every answered call gives back what it took', async () => {
    for (let round = 0; round < 20; round += 1) {
      const large = await client.call('InsertVector', sized(MAX_REQUEST_BYTES));
      const refused = await client.call('InsertVector', Buffer.alloc(MAX_REQUEST_BYTES, 0xff));
      expect([large.code, refused.code]).toEqual([status.OK, status.INVALID_ARGUMENT]);
    }
  });

  test('large answers count until they have been read', async () => {
    const small = await startServer({ env: { MAX_INFLIGHT_BYTES: '40000000' } });
    const reader = new RawClient(small.grpc, small.keys.readwrite);
    const other = new Connection(small.grpc);
    const items = Array<Buffer>(100).fill(wire.delimited(1, insert));
    expect((await reader.call('InsertVectorsBatch', Buffer.concat(items))).code).toBe(status.OK);
    const query = wire.delimited(1, wire.searchRequest(VALUES, 100));
    const queries = Buffer.concat(Array<Buffer>(4_000).fill(query));
    const unread = [1, 2].map(() => other.open('SearchPointsBatch', headers));
    for (const { stream } of unread) {
      const answered = once(stream, 'response');
      stream.pause();
      stream.end(framed(queries));
      await answered;
    }
    const refused = await reader.call('SearchPointsBatch', queries);
    expect(refused.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(refused.details).toContain('MAX_INFLIGHT_BYTES');
    expect(refused.requestId).toBeDefined();
    expect((await reader.call('SearchPoints', wire.searchRequest(VALUES, 100))).code).toBe(0);
    for (const { stream } of unread) stream.close();
    await untilInflight(small, 0);
    const answer = await reader.call('SearchPointsBatch', queries);
    expect(answer.code).toBe(status.OK);
    const { results } = SearchPointsBatchResponse.decode(answer.message ?? Buffer.alloc(0));
    expect(results.map(({ resultPointIds }) => resultPointIds.length)).toEqual(
      Array(4_000).fill(100),
    );
    reader.close();
    other.close();
    expect(await small.stop()).toBe(0);
  });
});
