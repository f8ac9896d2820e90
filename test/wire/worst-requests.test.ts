import { readFileSync } from 'node:fs';
import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { RawClient } from '../grpc/client.js';
import { startServer, type TestServer } from '../support/server.js';
import * as wire from '../support/wire.js';

const MIB = 1024 * 1024;
const BYTES = 64 * MIB;

/** More than any batch has. */
const PARTS = 2_000_000;

/** What the service may take at its peak, by docs/SECURITY.md: 10 times its size to read one, and what is itself. */
const MAX_MEMORY_BYTES = 768 * MIB;

const TIMEOUT_MS = 120_000;

let server: TestServer;
let caller: RawClient;

beforeAll(async () => {
  server = await startServer();
  caller = new RawClient(server.grpc, server.keys.readwrite);
});

afterEach(async () => {
  const points =
    '{"vectors":[{"vector":[1,2,3,4],"payload":{"content_type":"Text","content":""}}]}';
  // Large enough for the thread that has just read something else.
  expect((await insert(Buffer.from(points.padEnd(MIB)))).status).toBe(201);
});

afterAll(async () => {
  caller.close();
  expect(server.log()).not.toMatch(/"level":"(error|fatal)"/);
  if (process.platform === 'linux') {
    const text = readFileSync(`/proc/${server.pid}/status`, 'utf8');
    const [, peakKib] = /^VmHWM:\s+(\d+) kB$/m.exec(text) ?? [];
    expect(Number(peakKib) * 1024).toBeLessThan(MAX_MEMORY_BYTES);
  }
});

async function insert(body: Buffer): Promise<{ status: number; text: string }> {
  const response = await fetch(`${server.http}/points/batch`, {
    method: 'POST',
    headers: { 'api-key': server.keys.readwrite },
    body,
  });
  return { status: response.status, text: await response.text() };
}

/** The greatest body that begins and ends like this, and has `item` as often as it can. */
function filled(start: string, item: string, end: string): Buffer {
  const body = Buffer.alloc(BYTES, item);
  const count = Math.floor((BYTES - Buffer.byteLength(start) - end.length) / item.length);
  const items = body.subarray(0, count * item.length);
  return Buffer.concat([Buffer.from(start), items, Buffer.from(end)]);
}

/** Many different keys, numbers, and a text; a vector begins with `first`. */
function worst(parts: number, first: string, end: string): Buffer {
  const keys = listed('{"€":{', parts - 20, (index) => `"${index}k":-0`, '}').toString();
  const start = `${keys},"vectors":[{"vector":[${first}${repeated('-0,', BYTES / 8)}1]}],"":"`;
  return filled(start, 'x', `"${end}`);
}

/** A body with a string of escapes in its middle. */
function ofEscapes(start: string, end: string): Buffer {
  return filled(`${start}"`, '\\u0041', `"${end}`);
}

/** A body of this number of different items. */
function listed(start: string, count: number, item: (index: number) => string, end: string) {
  const items = Array.from({ length: count }, (_, index) => item(index));
  return Buffer.from(start + items.join(',') + end);
}

function repeated(text: string, count: number): string {
  return text.repeat(count);
}

describe('the worst bodies of 64 MiB are refused, and the service goes on', () => {
  test.each<[string, () => Buffer, number, RegExp]>([
    ['whole numbers', () => filled('{"a":[', '1,', '1]}'), 400, /vectors is missing/],
    ['zeros below zero', () => filled('{"€":[null,', '-0,', '1]}'), 400, /is missing/],
    [
      'numbers and different keys',
      () => worst(PARTS, '"",', '}'),
      400,
      /vectors\[0\]\.vector\[0\]/,
    ],
    ['the same, and broken at the end', () => worst(PARTS, '', ',}'), 400, /not valid JSON/],
    [
      'numbers of a vector that is none',
      () => filled('{"vectors":[{"vector":["",', '1.5,', '1]}]}'),
      400,
      /vectors\[0\]\.vector\[0\] is "", expected a number/,
    ],
    [
      'a vector of 32 million that is read with care',
      () => filled('{"vectors":[{"vector":[1e-45,', '1,', '1]}]}'),
      400,
      /payload is missing/,
    ],
    [
      'a content of escapes',
      () =>
        ofEscapes(
          '{"vectors":[{"vector":[1,2,3,4],"payload":{"content_type":"Text","content":',
          '}}]}',
        ),
      413,
      /MAX_CONTENT_BYTES/,
    ],
    [
      'a vector of escapes',
      () => ofEscapes('{"vectors":[{"vector":', '}]}'),
      400,
      /vector is "AAAA/,
    ],
    ['a key of escapes', () => ofEscapes('{', ':1}'), 400, /vectors is missing/],
    [
      'a vector of 32 million',
      () => filled('{"vectors":[{"vector":[', '1,', '1]}]}'),
      400,
      /payload/,
    ],
    ['nothing but null', () => filled('[', 'null,', '1]'), 400, /an array, expected an object/],
    ['arrays without end', () => filled('', '[', ''), 400, /not valid JSON/],
    ['arrays within arrays', () => nested('[', ']'), 400, /an array, expected an object/],
    ['objects within objects', () => nested('{"":', '}', '1'), 400, /vectors is missing/],
    ['empty items', () => filled('{"vectors":[', '{},', '{}]}'), 413, /MAX_BATCH/],
    [
      'as many as that',
      () => Buffer.from(`{"vectors":[${repeated('{},', PARTS)}{}]}`),
      413,
      /MAX_BATCH/,
    ],
    ['different keys', () => listed('{', PARTS, (index) => `"k${index}":1`, '}'), 400, /missing/],
    [
      'keys that are numbers',
      () => listed('{', PARTS, (index) => `"${index * 2039}":1`, '}'),
      400,
      /missing/,
    ],
    [
      'objects of different keys',
      () => listed('{"vectors":[', PARTS / 2, (index) => `{"k${index}":1.5}`, ']}'),
      413,
      /MAX_BATCH/,
    ],
    ['one key', () => filled('{"', 'a', '":1}'), 400, /vectors is missing/],
    [
      'different strings',
      () => listed('["€",', PARTS, (index) => `"${index}abcdefgh"`, ']'),
      400,
      /array/,
    ],
    ['spaces', () => filled('', ' ', ''), 400, /not valid JSON/],
  ])('%s', { timeout: TIMEOUT_MS }, async (_, body, code, message) => {
    const answer = await insert(body());
    expect(answer.text).toMatch(message);
    expect(answer.status).toBe(code);
  });

  // What one has left must be gone before the next is read.
  test('those that take most, time and again', { timeout: TIMEOUT_MS }, async () => {
    const values = filled('{"vectors":[{"vector":[', '1,', '1]}]}');
    const text = worst(PARTS, '', ',}');
    for (let round = 0; round < 3; round += 1) {
      expect((await insert(values)).text).toMatch(/payload is missing/);
      expect((await insert(text)).text).toMatch(/not valid JSON/);
    }
  });

  function nested(open: string, close: string, inner = ''): Buffer {
    const depth = Math.floor(PARTS / (open.length === 1 ? 1 : 2));
    return Buffer.from(repeated(open, depth) + inner + repeated(close, depth));
  }
});

describe('so are the worst messages', () => {
  const vector = wire.delimited(1, wire.packed([1, 2, 3, 4]));
  const manyOf = (item: Buffer, bytes = BYTES): Buffer =>
    Buffer.alloc(Math.floor(bytes / item.length) * item.length, item);

  test.each<[string, () => Buffer, status, RegExp]>([
    ['empty items', () => manyOf(wire.delimited(1)), status.RESOURCE_EXHAUSTED, /MAX_BATCH/],
    [
      'an item of empty vectors',
      () => wire.delimited(1, manyOf(wire.delimited(1), BYTES - 10)),
      status.INVALID_ARGUMENT,
      /payload is missing/,
    ],
    [
      'an item of empty payloads',
      () => wire.delimited(1, manyOf(wire.delimited(2), BYTES - 10)),
      status.INVALID_ARGUMENT,
      /vector is missing/,
    ],
    [
      'one content',
      () =>
        wire.delimited(1, vector, wire.delimited(2, wire.delimited(2, Buffer.alloc(BYTES - 99)))),
      status.RESOURCE_EXHAUSTED,
      /MAX_CONTENT_BYTES/,
    ],
    [
      'groups within groups',
      () => wire.delimited(1, Buffer.alloc(BYTES - 10, wire.tag(9, wire.START_GROUP))),
      status.INVALID_ARGUMENT,
      /nest too deep/,
    ],
    [
      'numbers of ten bytes',
      () => wire.delimited(1, manyOf(wire.integer(9, -1), BYTES - 10)),
      status.INVALID_ARGUMENT,
      /vector is missing/,
    ],
  ])('%s', { timeout: TIMEOUT_MS }, async (_, message, code, details) => {
    const answer = await caller.call('InsertVectorsBatch', message());
    expect(answer.details).toMatch(details);
    expect(answer.code).toBe(code);
  });
});

// The heap of the thread that reads is as large as the limits ask for.
test('a large message is read where batches are small', { timeout: TIMEOUT_MS }, async () => {
  const small = await startServer({ env: { MAX_BATCH: '1' } });
  const client = new RawClient(small.grpc, small.keys.readwrite);
  const content = Buffer.from('€'.repeat((BYTES - 100) / 3));
  const item = wire.delimited(1, wire.delimited(2, wire.delimited(2, content)));
  const { details } = await client.call('InsertVectorsBatch', item);
  expect(details).toMatch(/vector is missing/);
  client.close();
  expect(await small.stop()).toBe(0);
});
