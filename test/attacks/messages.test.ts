import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { expect } from 'vitest';
import { Connection, framed } from '../grpc/http2-call.js';
import { Random } from '../support/random.js';
import * as wire from '../support/wire.js';
import { ask, many, openAll, RawConnection, times } from './flood.js';
import { MIB, type Target } from './target.js';
import { underAttack } from './under-attack.js';

const MAX_REQUEST_BYTES = 8 * MIB;
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
const ZEROS = gzipSync(Buffer.alloc(MAX_REQUEST_BYTES));
const ZEROS_BEYOND = gzipSync(Buffer.alloc(60 * MIB));
const BLANKS_BEYOND = brotliCompressSync(Buffer.alloc(60 * MIB, ' '));
const CLIENT_FAULTS = [status.INVALID_ARGUMENT, status.RESOURCE_EXHAUSTED, status.UNIMPLEMENTED];

/** Calls a method as often as that on a connection of its own; gives the statuses. */
async function calls(
  target: Target,
  method: string,
  message: Buffer,
  { count = 1, headers = {} }: { count?: number; headers?: Record<string, string> } = {},
): Promise<number[]> {
  const connection = new Connection(target.server.grpc);
  const all = { authorization: target.server.keys.readwrite, ...headers };
  const codes = await times(count, async () => await connection.call(method, all, message));
  connection.close();
  return codes;
}

async function post(
  target: Target,
  path: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const all = { 'api-key': target.server.keys.readwrite, ...headers };
  return (await ask(target, 'POST', path, body, all)).status;
}

/** As many of `text` as a request may have, between two others. */
function filled(start: string, text: string, end: string): string {
  const room = MAX_REQUEST_BYTES - start.length - end.length;
  return start + text.repeat(Math.floor(room / text.length)).replace(/,$/, '') + end;
}

function expectRefused(codes: readonly number[]): void {
  for (const code of codes) expect(CLIENT_FAULTS).toContain(code);
}

function expectTooMuch(code: number): void {
  expect(code).toBe(413);
}

underAttack('messages that are more than they seem', [
  {
    name: 'gRPC messages that unpack to a thousand times their size',
    async strike(target) {
      const headers = { 'grpc-encoding': 'gzip' };
      for (const packed of [ZEROS, ZEROS_BEYOND]) {
        const message = framed(packed, true);
        expectRefused(await calls(target, 'SearchPoints', message, { count: 40, headers }));
      }
    },
  },
  {
    name: 'HTTP bodies that unpack to a thousand times their size',
    async strike(target) {
      const found = await times(20, async (index) =>
        index % 2 === 0
          ? await post(target, '/points', ZEROS_BEYOND, { 'content-encoding': 'gzip' })
          : await post(target, '/points', BLANKS_BEYOND, { 'content-encoding': 'br' }),
      );
      for (const code of found) expect([413, 503]).toContain(code);
    },
  },
  {
    name: 'lengths that are announced and never sent',
    async strike(target) {
      const connection = new Connection(target.server.grpc);
      const headers = { authorization: target.server.keys.readwrite };
      const open = Array.from({ length: 100 }, () => connection.open('InsertVector', headers));
      for (const { stream } of open) stream.write(Buffer.of(0, 0xff, 0xff, 0xff, 0xff));
      expectRefused(await Promise.all(open.map((call) => call.status)));
      connection.close();
      for (const length of ['9007199254740993', '99999999999999999999', '4294967296']) {
        const raw = new RawConnection(target.server.http).read();
        await raw.send(
          `POST /points HTTP/1.1\r\nHost: x\r\napi-key: ${headers.authorization}\r\n` +
            `Content-Length: ${length}\r\n\r\n`,
        );
        await target.until(() => raw.received.includes('\r\n\r\n') || raw.isClosed, 5_000);
        expect(raw.received).toMatch(/^HTTP\/1\.1 4(?:00|13)/);
        await raw.end();
      }
    },
  },
  {
    name: 'lengths within a message that its bytes do not have',
    async strike(target) {
      for (const length of [2n ** 31n, 2n ** 32n, 2n ** 63n, 2n ** 64n - 1n]) {
        const message = Buffer.concat([wire.tag(1, wire.LENGTH_DELIMITED), wire.varint(length)]);
        for (const method of ['InsertVector', 'SearchPoints', 'SearchPointsBatch', 'GetPoint']) {
          const codes = await calls(target, method, framed(message), { count: 10 });
          expect(new Set(codes)).toEqual(new Set([status.INVALID_ARGUMENT]));
        }
      }
    },
  },
  {
    name: 'messages of noise, and right ones with noise in them',
    async strike(target) {
      const random = new Random(7);
      const right = wire.insertRequest(target.query, 'x');
      for (const method of ['InsertVector', 'SearchPoints', 'InsertVectorsBatch', 'DeletePoint']) {
        const connection = new Connection(target.server.grpc);
        const headers = { authorization: target.server.keys.readonly };
        await times(50, async (index) => {
          const message = Buffer.from(right);
          for (let at = 0; at <= index % 7; at += 1) {
            message[random.below(message.length)] = random.below(256);
          }
          const noise = Buffer.from(Array.from({ length: 500 }, () => random.below(256)));
          const bytes = index % 2 === 0 ? noise : message;
          const code = await connection.call(method, headers, framed(bytes));
          expect([...CLIENT_FAULTS, status.OK, status.PERMISSION_DENIED]).toContain(code);
        });
        connection.close();
      }
    },
  },
  {
    name: 'a mark of compression without an encoding, and encodings that nobody has',
    async strike(target) {
      const message = framed(target.searchMessage, true);
      expect(new Set(await calls(target, 'SearchPoints', message, { count: 50 }))).not.toContain(
        status.INTERNAL,
      );
      for (const encoding of ['snappy', '__proto__', 'constructor', 'identity, gzip']) {
        const headers = { 'grpc-encoding': encoding };
        expectRefused(await calls(target, 'SearchPoints', message, { count: 10, headers }));
      }
      for (const encoding of ['snappy', '__proto__', 'gzip, gzip, gzip']) {
        expect(await post(target, '/points', '{}', { 'content-encoding': encoding })).toBe(415);
      }
    },
  },
  {
    name: 'reflection for thousands of names, and of files that are not there',
    async strike(target) {
      const request = framed(wire.delimited(4, 'vectordb.VectorDB'));
      const missing = framed(wire.delimited(3, '../../etc/passwd'));
      const connections = Array.from({ length: 4 }, () => new Connection(target.server.grpc));
      for (const connection of connections) {
        for (let call = 0; call < 25; call += 1) {
          const { stream } = connection.open(REFLECTION);
          stream.pause();
          stream.write(many(call % 2 === 0 ? request : missing, 40_000));
        }
      }
      await sleep(300);
      for (const connection of connections) connection.close();
    },
  },
  {
    name: 'messages of one query or one point, as large as a batch',
    async strike(target) {
      const query = many(wire.integer(4, 10), MAX_REQUEST_BYTES - 16);
      const values = wire.delimited(1, many(wire.unpacked([1]), MAX_REQUEST_BYTES - 64));
      for (const message of [query, values]) {
        for (const method of ['SearchPoints', 'InsertVector', 'GetPoint']) {
          const found = await times(4, async () => await calls(target, method, framed(message)));
          for (const code of found.flat()) expect(code).toBe(status.RESOURCE_EXHAUSTED);
        }
      }
    },
  },
  {
    name: 'many large bodies at once',
    async strike(target) {
      const body = filled('{"vectors":[', '0,', ']}');
      const found = await times(24, async () => await post(target, '/points/batch', body));
      for (const code of found) expect([400, 413, 503]).toContain(code);
    },
  },
  {
    name: 'many large messages at once, and half of each',
    async strike(target) {
      const connections = Array.from({ length: 24 }, () => new Connection(target.server.grpc));
      const headers = { authorization: target.server.keys.readwrite };
      const half = framed(Buffer.alloc(MAX_REQUEST_BYTES)).subarray(0, MAX_REQUEST_BYTES / 2);
      for (const connection of connections) {
        connection.open('InsertVectorsBatch', headers).stream.write(half);
      }
      await sleep(300);
      for (const connection of connections) connection.close();
      const [first] = connections;
      if (first !== undefined && !first.session.destroyed) await once(first.session, 'close');
    },
  },
]);

underAttack('requests that ask for too much', [
  {
    name: 'small messages of very many fields, all of them ended at once',
    async strike(target) {
      const { readonly, readwrite } = target.server.keys;
      const empty = (field: number, bytes: number): Buffer =>
        Buffer.alloc(bytes, Buffer.concat([wire.tag(field, wire.LENGTH_DELIMITED), Buffer.of(0)]));
      for (const [method, key, message] of [
        [REFLECTION, '', empty(1, 4_000)],
        [REFLECTION, '', empty(1, 64_000)],
        ['GetPoint', readonly, wire.delimited(1, empty(1, 60_000))],
        ['SearchPoints', readonly, wire.delimited(1, empty(2, 60_000))],
        ['InsertVector', readwrite, wire.delimited(2, empty(2, 200_000))],
      ] as const) {
        const connection = new Connection(target.server.grpc);
        const headers = { authorization: key, 'grpc-encoding': 'gzip' };
        const open = Array.from({ length: 30 }, () => connection.open(method, headers));
        await connection.settled();
        const bytes = framed(gzipSync(message), true);
        for (const { stream } of open) stream.end(bytes);
        const codes = await Promise.all(open.map((call) => call.status));
        for (const code of codes) expect([...CLIENT_FAULTS, status.OK]).toContain(code);
        connection.close();
      }
    },
  },
  {
    name: 'small bodies of very many keys, the last byte of all at once',
    mayDelay: true,
    async strike(target) {
      const keys = Array.from({ length: 12_000 }, (_, index) => `"${index.toString(36)}":0`);
      const body = `{${keys.join(',')}}`;
      const head =
        `POST /points/search HTTP/1.1\r\nHost: x\r\napi-key: ${target.server.keys.readonly}\r\n` +
        `Content-Length: ${body.length}\r\n\r\n`;
      const all = await openAll(target.server.http, 50);
      await Promise.all(all.map(async (each) => await each.read().send(head + body.slice(0, -1))));
      for (const each of all) void each.send('}');
      const answered = await target.until(
        () => all.every(({ received }) => received.startsWith('HTTP/1.1 400')),
        20_000,
      );
      expect(answered).toBe(true);
      await Promise.all(all.map(async (each) => await each.end()));
    },
  },
  {
    name: 'JSON as deep as a request may be',
    async strike(target) {
      const depth = MAX_REQUEST_BYTES / 2;
      const bodies = [
        '['.repeat(MAX_REQUEST_BYTES),
        `${'['.repeat(depth)}${']'.repeat(depth)}`,
        filled('', '{"vector":', ''),
        `{"vector":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      ];
      const statuses = [];
      for (const body of bodies) statuses.push(await post(target, '/points', body));
      expect(statuses).toEqual([400, 400, 400, 400]);
    },
  },
  {
    name: 'a million keys, and the same key a million times',
    async strike(target) {
      const keys = Array.from({ length: 500_000 }, (_, index) => `"${index.toString(36)}":0`);
      const statuses = [
        await post(target, '/points', `{${keys.join(',')}}`),
        await post(target, '/points/search', filled('{', '"limit":1,', '}')),
      ];
      expect(statuses).toEqual([400, 400]);
    },
  },
  {
    name: 'strings and numbers as long as a request may be',
    async strike(target) {
      const bodies = [
        filled('{"vector":[', '1', ']}'),
        filled('{"vector":[0.', '1', ']}'),
        filled('{"vector":"', 'x', '"}'),
        filled('{"similarity":"', String.raw`\u0041`, '"}'),
        filled('{"vector":[', '1,', ']}'),
      ];
      for (const body of bodies) expect(await post(target, '/points', body)).toBe(400);
    },
  },
  {
    name: 'batches of millions of items with nothing in them',
    async strike(target) {
      const items = many(Buffer.of(0x0a, 0), MAX_REQUEST_BYTES - 10);
      for (const method of ['InsertVectorsBatch', 'SearchPointsBatch']) {
        expect(await calls(target, method, framed(items))).toEqual([status.RESOURCE_EXHAUSTED]);
      }
      const json = filled('{"vectors":[', '{},', ']}');
      expectTooMuch(await post(target, '/points/batch', json));
      const queries = filled('{"queries":[', '[],', ']}');
      expectTooMuch(await post(target, '/points/search/batch', queries));
    },
  },
  {
    name: 'batches whose queries each ask for all there is',
    async strike(target) {
      const query = wire.delimited(1, wire.searchRequest(target.query, 2n ** 64n - 1n));
      const batch = framed(Buffer.concat(Array<Buffer>(10_000).fill(query)));
      const codes = await calls(target, 'SearchPointsBatch', batch, { count: 4 });
      for (const code of codes) expect([status.OK, status.RESOURCE_EXHAUSTED]).toContain(code);
      const beyond = wire.delimited(
        1,
        wire.searchRequest(target.query, 1),
        wire.integer(4, 2n ** 64n - 1n),
      );
      const wide = framed(Buffer.concat(Array<Buffer>(10_000).fill(beyond)));
      expect(await calls(target, 'SearchPointsBatch', wide)).toEqual([status.RESOURCE_EXHAUSTED]);
    },
  },
  {
    name: 'limits and breadths up to 2^64 - 1',
    async strike(target) {
      for (const number of [2n ** 53n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n]) {
        const search = wire.searchRequest(target.query, number);
        const message = framed(Buffer.concat([search, wire.integer(4, number)]));
        expect(new Set(await calls(target, 'SearchPoints', message, { count: 10 }))).toEqual(
          new Set([status.OK]),
        );
        const json = target.searchJson.replace('"limit":10', `"limit":${number}`);
        expect(await post(target, '/points/search', json)).toBe(200);
      }
    },
  },
  {
    name: 'zeros below zero, which JSON.stringify would answer without their sign',
    async strike(target) {
      const zeros = `[${'-0.0,-0,-1e-999,0,'.repeat(8).slice(0, -1)}]`;
      const insert = `{"vector":${zeros},"payload":{"content_type":"Text","content":"zeros"}}`;
      const key = { 'api-key': target.server.keys.readwrite };
      const { status: code, text } = await ask(target, 'POST', '/points', insert, key);
      expect(code).toBe(201);
      const { point_id } = JSON.parse(text) as { point_id: string };
      const found = await ask(target, 'GET', `/points/${point_id}`, '', key);
      expect(found.text).toContain(`[${'-0.0,-0.0,-0.0,0.0,'.repeat(8).slice(0, -1)}]`);
      expect((await ask(target, 'DELETE', `/points/${point_id}`, '', key)).status).toBe(204);
    },
  },
  {
    name: 'numbers that are none, or beyond a float',
    async strike(target) {
      for (const text of ['1e999', '-1e999', '1e39', 'NaN', 'Infinity', '0x10', '1e', '"1"']) {
        const json = target.searchJson.replace(/\[[^,]+/, `[${text}`);
        expect(await post(target, '/points/search', json), text).toBe(400);
      }
      for (const value of [NaN, Infinity, -Infinity]) {
        const values = target.query.with(0, value);
        const message = framed(wire.searchRequest(values, 1));
        expect(await calls(target, 'SearchPoints', message)).toEqual([status.INVALID_ARGUMENT]);
      }
    },
  },
]);
