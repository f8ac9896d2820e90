import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Decoder } from '../../src/wire/decoder.js';
import { DecoderThread } from '../../src/wire/decoder-thread.js';
import type { Answer, ParserName } from '../../src/wire/parsers.js';
import type { OnRequestEnd } from '../../src/core/request-end.js';
import {
  openClients,
  type TestPoint,
  type TestQuery,
  type VectorClient,
} from '../support/clients.js';
import { forEachParallel } from '../support/parallel.js';
import { startServer, type TestServer } from '../support/server.js';
import * as wire from '../support/wire.js';

/** Together far more than the size from which on a request is read on another thread. */
const COUNT = 5_000;
const DIMENSION = 16;

const numbers = (length: number): number[] => [...Array(length).keys()];

const points: readonly TestPoint[] = numbers(COUNT).map((index) => ({
  // No two are alike: their factors repeat after a greater prime.
  vector: numbers(DIMENSION).map((at) => (index * (at + 1)) % 5_003),
  contentType: index % 3 === 0 ? 'Image' : 'Text',
  content: index % 5 === 0 ? '' : `${index} é 😀 "\\`,
}));
const queries: readonly TestQuery[] = points.map(({ vector }, index) => ({
  vector,
  similarity: index % 2 === 0 ? 'Euclidean' : 'Cosine',
  limit: 1 + (index % 2),
  ef: 10,
}));

let server: TestServer;
let clients: readonly [VectorClient, VectorClient];

beforeAll(async () => {
  server = await startServer({ dimension: DIMENSION });
  clients = openClients(server);
});

afterAll(async () => {
  for (const client of clients) client.close();
});

async function refusal(answer: Promise<unknown>): Promise<string> {
  return await answer.then(
    () => 'accepted',
    (error: unknown) => String(error),
  );
}

function replaced<Item>(items: readonly Item[], at: number, change: Partial<Item>): Item[] {
  return items.map((item, index) => (index === at ? { ...item, ...change } : item));
}

describe.each([0, 1] as const)('a large request of client %i (HTTP, gRPC)', (which) => {
  it('stores every point as it was sent, and finds it', async () => {
    const client = clients[which];
    const ids = await client.insertBatch(points);
    expect(new Set(ids).size).toBe(COUNT);
    for (const index of [0, 1, 2, 2_500, COUNT - 1]) {
      expect(await client.get(ids[index] ?? '')).toEqual({ id: ids[index], ...points[index] });
    }
    const found = await client.searchBatch(queries);
    expect(found.map((results) => results.length)).toEqual(queries.map(({ limit }) => limit));
    for (const index of [0, 2_500]) expect(found[index]).toEqual([ids[index]]);
    await forEachParallel(ids, 100, async (id) => await client.delete(id));
  });

  it('is refused whole, with the item that is wrong', async () => {
    const client = clients[which];
    const short = replaced(points, 4_321, { vector: [1] });
    const message = /vectors\[4321\]: vector has 1 dimensions, this service stores 16/;
    expect(await refusal(client.insertBatch(short))).toMatch(message);
    // JSON has no infinity, and gRPC clients write no greater number.
    const beyond = which === 0 ? 1e39 : Infinity;
    const infinite = replaced(points, 4_322, { vector: [beyond, ...numbers(15)] });
    expect(await refusal(client.insertBatch(infinite))).toMatch(/vectors\[4322\]/);
    const nothing = replaced(queries, 7, { limit: 0 });
    const wanted = /queries\[7\]: limit is 0, expected at least 1/;
    expect(await refusal(client.searchBatch(nothing))).toMatch(wanted);
    const one = queries[0] as TestQuery;
    expect(await client.search(one)).toEqual([]);
  });
});

describe('the thread that reads large requests', () => {
  const limits = {
    maxRequestBytes: 1 << 28,
    maxBatch: 1_000_000,
    maxContentBytes: 1_000,
    maxSearchWork: 1_000,
    maxInflightBytes: 1 << 30,
    maxFilterIndexBytes: 1 << 30,
  };
  const rules = { dimension: 2, limits, defaultEf: 100 };
  const worker = new URL('../../dist/wire/decoder-worker.js', import.meta.url);
  const never = (): void => {};
  const item = '{"vector":[1,2],"payload":{"content_type":"Text","content":"x"}},';
  const body = (count: number): Buffer =>
    Buffer.from(`{"vectors":[${item.repeat(count).slice(0, -1)}]}`);

  async function decode<Name extends ParserName>(
    thread: DecoderThread,
    name: Name,
    bytes: Uint8Array,
    onRequestEnd: OnRequestEnd,
  ): Promise<Answer<Name>> {
    return await new Decoder(rules, thread).decode(name, bytes, onRequestEnd);
  }

  it('leaves this thread to others meanwhile', async () => {
    const thread = new DecoderThread(rules, worker);
    const ended = new AbortController();
    const batch = decode(thread, 'httpPoints', body(100_000), never).finally(() => ended.abort());
    let turns = 0;
    for (; !ended.signal.aborted; turns += 1) await setImmediate();
    expect((await batch).vectors).toHaveLength(200_000);
    expect(turns).toBeGreaterThan(10);
    await thread.close();
  });

  it('takes the memory of a request, framed or not, and copies what is in memory of others', async () => {
    const thread = new DecoderThread(rules, worker);
    const bytes = body(10_000);
    for (const [around, left] of [
      [0, 0],
      [5, 0],
      [64, bytes.length + 64],
    ] as const) {
      const memory = new Uint8Array(bytes.length + around);
      const request = memory.subarray(around);
      request.set(bytes);
      const { vectors } = await decode(thread, 'httpPoints', request, never);
      expect(vectors).toHaveLength(20_000);
      expect(memory).toHaveLength(left);
    }
    await thread.close();
  });

  it('gives up a request whose client has gone, before its turn or while it is read', async () => {
    const thread = new DecoderThread(rules, worker);
    const leave: (() => void)[] = [];
    const answers = [1, 2, 3].map((vectors) =>
      decode(thread, 'httpPoints', body(vectors * 10_000), (listener) => leave.push(listener)),
    );
    for (const listener of leave.slice(0, 2)) listener();
    const [first, second, third] = await Promise.allSettled(answers);
    for (const outcome of [first, second]) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'CANCELLED' } });
    }
    expect(third).toMatchObject({ status: 'fulfilled' });
    await thread.close();
  });

  it('reads the smallest that waits next, and every fourth time the oldest', async () => {
    const thread = new DecoderThread(rules, worker);
    const order: number[] = [];
    // In thousands of points; each is larger than what is read at once.
    const sizes = [9, 40, 30, 4, 8, 5, 3, 7, 6];
    await Promise.all(
      sizes.map(async (thousands) => {
        await decode(thread, 'httpPoints', body(thousands * 1_000), never);
        order.push(thousands);
      }),
    );
    expect(order).toEqual([9, 3, 4, 40, 5, 6, 7, 30, 8]);
    await thread.close();
  });

  it('refuses what it has not read when it ends, and another takes its place', async () => {
    const thread = new DecoderThread(rules, worker);
    const unread = Promise.allSettled([
      decode(thread, 'httpPoints', body(200_000), never),
      decode(thread, 'httpPoints', body(200_000), never),
    ]);
    await thread.close();
    for (const outcome of await unread) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'UNAVAILABLE' } });
    }
    const batch = await decode(thread, 'httpPoints', body(10_000), never);
    expect(batch.vectors.slice(-2)).toEqual(Float32Array.of(1, 2));
    expect(batch.contentEnds.at(-1)).toBe(10_000);
    await thread.close();
  });

  it('serves one after the other, and ends when there has been none for a while', async () => {
    const threads: Worker[] = [];
    const note = (thread: Worker): number => threads.push(thread);
    process.on('worker', note);
    const thread = new DecoderThread(rules, worker, 50);
    for (const turn of [1, 2]) {
      for (const count of [10_000, 20_000]) {
        const { vectors } = await decode(thread, 'httpPoints', body(count), never);
        expect(vectors).toHaveLength(2 * count);
      }
      expect(threads).toHaveLength(turn);
      await once(threads.at(-1) as Worker, 'exit');
    }
    process.off('worker', note);
    await thread.close();
  });

  it('reads what is small, but cut into very many pieces, too', async () => {
    const thread = new DecoderThread(rules, worker);
    const fields = Buffer.alloc(20_000, Buffer.of(0x48, 0));
    const query = Buffer.concat([wire.searchRequest([1, 2], 3), fields]);
    for (const [name, bytes, isOfMany] of [
      ['grpcQuery', query, true],
      ['grpcQuery', query.subarray(0, -16_000), false],
    ] as const) {
      const memory = new Uint8Array(bytes);
      const { vector, limit } = await decode(thread, name, memory, never);
      expect([vector, Number(limit)]).toEqual([Float32Array.of(1, 2), 3]);
      // The thread keeps what it is handed.
      expect(memory).toHaveLength(isOfMany ? 0 : bytes.length);
    }
    await thread.close();
  });

  it('reads what it has begun, and nothing else, once the service stops', async () => {
    const thread = new DecoderThread(rules, worker);
    const [begun, waiting] = [1, 2].map(() => decode(thread, 'httpPoints', body(20_000), never));
    thread.refuseUnread();
    const late = decode(thread, 'httpPoints', body(20_000), never);
    for (const answer of [waiting, late]) {
      await expect(answer).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    }
    expect((await begun)?.vectors).toHaveLength(40_000);
    expect((await decode(thread, 'httpPoints', body(1), never)).vectors).toHaveLength(2);
    await thread.close();
  });

  it('answers in the same words as a small request is answered', async () => {
    const thread = new DecoderThread(rules, worker);
    for (const [small, large] of [
      ['{"vectors":7}', `{"vectors":7${' '.repeat(200_000)}}`],
      ['{"vectors":[{}]}', `{"vectors":[{}${' '.repeat(200_000)}]}`],
      ['{"vectors":[}', `{"vectors":[}${' '.repeat(200_000)}`],
    ] as const) {
      const answers = await Promise.allSettled(
        [small, large].map((text) => decode(thread, 'httpPoints', Buffer.from(text), never)),
      );
      const [first, second] = answers.map((answer) => (answer as PromiseRejectedResult).reason);
      expect(second).toMatchObject({ code: first.code, message: first.message });
      expect(first.code).toBe('INVALID_ARGUMENT');
    }
    await thread.close();
  });
});
