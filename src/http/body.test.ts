import { once } from 'node:events';
import {
  createServer,
  request,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
} from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { queryObjects } from 'node:v8';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import Koa from 'koa';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.js';
import { MemoryBudget } from '../admission/memory-budget.js';
import { Requests } from '../observe/requests.js';
import { LEAST_BYTES_PER_CHECK, CHECK_MS } from '../admission/min-data-rate.js';
import { answerAndNote } from './answer-and-note.js';
import { readBody } from './body.js';
import type { Context, RequestState } from './context.js';
import { answerJson } from './reply.js';

/** How long a busy machine may take. */
const PATIENCE = { timeout: 10_000 };

const LIMITS = {
  maxRequestBytes: 3_000_000,
  maxBatch: 10,
  maxContentBytes: 1000,
  maxSearchWork: 1000,
  maxInflightBytes: 4_000_000,
  maxFilterIndexBytes: 4_000_000,
};

let clock: ManualClock;
let inflight: MemoryBudget;
let server: Server;
/** Requests whose bodies are being read, or were. */
let reading = 0;

/** Answers every request with the JSON that it brought, but never one of /unanswered. */
beforeEach(async () => {
  clock = new ManualClock();
  reading = 0;
  // All of it is there for large requests.
  inflight = new MemoryBudget(LIMITS.maxInflightBytes, LIMITS.maxInflightBytes);
  const logger = pino({ level: 'silent' });
  const app = new Koa<RequestState>();
  app.on('error', () => {});
  const options = { protocol: 'http', logger, slowRequestMs: 0, nameOf: String } as const;
  app.use(answerAndNote(new Requests(options), clock));
  app.use(async (ctx: Context) => {
    if (ctx.path === '/unanswered') await new Promise(() => {});
    const body = readBody(ctx, LIMITS, inflight, clock);
    reading += 1;
    answerJson(ctx, 200, JSON.stringify(JSON.parse((await body).toString())));
  });
  server = createServer(app.callback());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

/** Whatever a test did, nothing stays reserved. */
afterEach(async () => {
  await vi.waitFor(() => expect(inflight.usedBytes).toBe(0), PATIENCE);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function url(): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

type Body = string | Uint8Array<ArrayBuffer> | ReadableStream;

async function post(
  body: Body,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  const type = { 'content-type': 'application/json' };
  const init = { method: 'POST', body, headers: { ...type, ...headers }, duplex: 'half' as const };
  const response = await fetch(url(), init);
  return { status: response.status, text: await response.text() };
}

/** A body without Content-Length. */
function chunked(...parts: Buffer[]): ReadableStream {
  return ReadableStream.from(parts);
}

/** A request that is under way: its headers and the first bytes of its body have been sent. */
function begin(
  contentLength: number,
  start: string | Buffer,
  headers: OutgoingHttpHeaders = {},
): ClientRequest {
  const pending = request(url(), {
    method: 'POST',
    headers: { 'content-length': contentLength, ...headers },
  });
  pending.on('error', () => {});
  pending.flushHeaders();
  pending.write(start);
  return pending;
}

describe('the body', () => {
  it('is parsed as JSON, with and without Content-Length, under any JSON type', async () => {
    expect(await post('{"a":"é"}')).toEqual({ status: 200, text: '{"a":"é"}' });
    expect(await post(chunked(Buffer.from('[1,'), Buffer.from('2]')))).toEqual({
      status: 200,
      text: '[1,2]',
    });
    for (const type of [
      'application/json; charset=utf-8',
      'Application/JSON;charset="UTF-8"; profile=x',
      'application/vnd.api+json',
      'application/json; charset=utf8;charset=latin1',
    ]) {
      expect((await post('[]', { 'content-type': type })).status, type).toBe(200);
    }
  });

  it('is refused with 415 for any other type or charset', async () => {
    for (const type of [
      'text/plain',
      'application/jsonx',
      'application/json; charset=latin1',
      'application/json; charset="latin1"; charset=utf-8',
    ]) {
      const answer = await post('[]', { 'content-type': type });
      expect(answer, type).toEqual({
        status: 415,
        text: `The Content-Type is ${type}, expected application/json in UTF-8`,
      });
    }
  });
});

describe('a compressed body', () => {
  const json = JSON.stringify({ text: 'again and '.repeat(100) });

  it.each([
    ['gzip', gzipSync(json)],
    ['x-gzip', gzipSync(json)],
    ['deflate', deflateSync(json)],
    ['br', brotliCompressSync(json)],
    ['GZIP', gzipSync(json)],
    ['identity', Buffer.from(json)],
  ])('is read when it is %s', async (encoding, body) => {
    const answer = await post(Uint8Array.from(body), { 'content-encoding': encoding });
    expect(answer).toEqual({ status: 200, text: json });
  });

  it('is refused with 415 in another encoding or in two', async () => {
    for (const encoding of ['zstd', 'gzip, br', 'constructor']) {
      expect((await post('[]', { 'content-encoding': encoding })).status, encoding).toBe(415);
    }
  });

  it.each(['gzip', 'deflate', 'br'])('is refused with 400 when the %s is broken', async (name) => {
    const answer = await post('not compressed at all', { 'content-encoding': name });
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(/^The body cannot be decompressed: /);
  });

  it('is refused with 400 when it ends too early', async () => {
    const body = Uint8Array.from(gzipSync(json).subarray(0, 30));
    expect((await post(body, { 'content-encoding': 'gzip' })).status).toBe(400);
  });

  it('counts at its decompressed size', async () => {
    const bomb = gzipSync(Buffer.alloc(10 * LIMITS.maxRequestBytes, 0x20));
    expect(bomb.length).toBeLessThan(LIMITS.maxRequestBytes);
    const answer = await post(Uint8Array.from(bomb), { 'content-encoding': 'gzip' });
    expect(answer).toEqual({
      status: 413,
      text: 'The body has more than the 3000000 bytes that are allowed (MAX_REQUEST_BYTES)',
    });
  });
});

describe('the size of a body', () => {
  const limit = LIMITS.maxRequestBytes;

  it('may be exactly the limit', async () => {
    const text = `"${'x'.repeat(limit - 2)}"`;
    expect(await post(text)).toEqual({ status: 200, text });
  });

  it('is refused with 413 by its Content-Length, before a byte is sent', async () => {
    const pending = request(url(), {
      method: 'POST',
      headers: { 'content-length': limit + 1 },
    });
    pending.flushHeaders();
    const status = await new Promise((resolve, reject) => {
      pending.once('error', reject);
      pending.once('response', (response) => resolve(response.statusCode));
    });
    pending.destroy();
    expect(status).toBe(413);
  });

  it.skipIf(queryObjects === undefined)(
    'is kept in few pieces, of however many chunks',
    async () => {
      const chunks = 2_000;
      const buffers = (): number => queryObjects(Buffer, { format: 'count' });
      const before = buffers();
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.write('1\r\n \r\n'.repeat(chunks));
      await vi.waitFor(() => expect(inflight.usedBytes).toBe(chunks), PATIENCE);
      expect(buffers() - before).toBeLessThan(chunks / 10);
      socket.destroy();
    },
  );

  it('is refused with 413 while it arrives, and the client gets the answer', async () => {
    const parts = Array.from({ length: 40 }, () => Buffer.alloc(limit / 10, 0x20));
    expect((await post(chunked(...parts))).status).toBe(413);
  });
});

describe('a body that stops arriving', () => {
  it.each([
    ['before its first byte', {}, ''],
    ['behind its first piece', {}, ' '.repeat(100)],
    [
      'before it unpacks to anything',
      { 'content-encoding': 'gzip' },
      gzipSync(' ').subarray(0, 10),
    ],
  ])('is refused with 408, %s', async (_, headers, start) => {
    const pending = begin(1000, start, headers);
    const answered = once(pending, 'response');
    await vi.waitFor(() => expect(reading).toBe(1), PATIENCE);
    await clock.advance(CHECK_MS);
    const [response] = (await answered) as [IncomingMessage];
    expect(response.statusCode).toBe(408);
    expect(response.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(await readAll(response)).toBe('The body did not arrive in time');
    pending.destroy();
  });

  it('is not one that brings enough between two checks', async () => {
    const body = '"'.padEnd(5 * LEAST_BYTES_PER_CHECK, 'x') + '"';
    const pending = begin(body.length, '');
    const answered = once(pending, 'response');
    for (let sent = 0; sent < body.length - 1; sent += LEAST_BYTES_PER_CHECK) {
      pending.write(body.slice(sent, sent + LEAST_BYTES_PER_CHECK));
      const arrived = sent + LEAST_BYTES_PER_CHECK;
      await vi.waitFor(() => expect(inflight.usedBytes).toBe(arrived), PATIENCE);
      await clock.advance(CHECK_MS);
    }
    pending.end('"');
    const [response] = (await answered) as [IncomingMessage];
    expect([response.statusCode, await readAll(response)]).toEqual([200, body]);
  });
});

describe('bytes in flight', () => {
  const size = LIMITS.maxInflightBytes / 2;

  it('are reserved as they arrive, refused with 503 when used up, and given back', async () => {
    const start = ' '.repeat(size - 1);
    const pending = [begin(size, start), begin(size, start)];
    await vi.waitFor(() => expect(inflight.usedBytes).toBe(2 * size - 2), PATIENCE);
    const refused = await post('[1]');
    expect(refused.status).toBe(503);
    expect(refused.text).toContain('MAX_INFLIGHT_BYTES');
    for (const one of pending) one.destroy();
    await vi.waitFor(() => expect(inflight.usedBytes).toBe(0), PATIENCE);
    expect((await post('[]')).status).toBe(200);
  });

  it('are not reserved by a Content-Length alone, which is refused if it does not fit', async () => {
    const pending = Array.from({ length: 4 }, () => begin(LIMITS.maxRequestBytes, '[1'));
    await vi.waitFor(() => expect(inflight.usedBytes).toBe(8), PATIENCE);
    expect((await post('[]')).status).toBe(200);
    pending.push(begin(size, ' '.repeat(size - 1)));
    await vi.waitFor(() => expect(inflight.usedBytes).toBe(size + 7), PATIENCE);
    const unsent = begin(size, '[');
    const status = await new Promise((resolve) => {
      unsent.once('response', (response) => resolve(response.statusCode));
    });
    expect(status).toBe(503);
    for (const one of [...pending, unsent]) one.destroy();
  });

  it('are given back when a client goes away after all of a compressed body', async () => {
    const body = gzipSync(Buffer.alloc(2_900_000, 0x20));
    const head =
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\n' +
      `Content-Length: ${body.length}\r\n\r\n`;
    const { port } = server.address() as AddressInfo;
    const leave = async (afterMs: number): Promise<void> => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(Buffer.concat([Buffer.from(head), body]));
      await sleep(afterMs);
      socket.destroy();
    };
    await Promise.all(Array.from({ length: 40 }, (_, index) => leave(1 + index / 2)));
    await sleep(200);
    expect(inflight.usedBytes).toBe(0);
  });

  it('are given back by a request that waits behind another on a broken connection', async () => {
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    const behind = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n[';
    socket.write(`GET /unanswered HTTP/1.1\r\nHost: x\r\n\r\n${behind}`);
    await vi.waitFor(() => expect(inflight.usedBytes).toBe(1), PATIENCE);
    socket.destroy();
    await vi.waitFor(() => expect(inflight.usedBytes).toBe(0), PATIENCE);
  });

  it('are given back when a client goes away in the middle of a compressed body', async () => {
    const pending = request(url(), { method: 'POST', headers: { 'content-encoding': 'gzip' } });
    pending.on('error', () => {});
    pending.write(gzipSync(Buffer.alloc(1_000_000, 0x20)).subarray(0, 500));
    await vi.waitFor(() => expect(inflight.usedBytes).toBeGreaterThan(0), PATIENCE);
    pending.destroy();
  });
});
