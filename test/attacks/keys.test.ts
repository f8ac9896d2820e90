import { readFileSync } from 'node:fs';
import { status } from '@grpc/grpc-js';
import { expect } from 'vitest';
import { Connection, framed } from '../grpc/http2-call.js';
import { rawCall } from '../grpc/raw-http2.js';
import { sendRaw, statusOf } from '../http/client.js';
import * as wire from '../support/wire.js';
import { ask, times } from './flood.js';
import { DIMENSION, type Target } from './target.js';
import { underAttack } from './under-attack.js';

const METHODS = [
  'InsertVector',
  'InsertVectorsBatch',
  'DeletePoint',
  'GetPoint',
  'SearchPoints',
  'SearchPointsBatch',
  'NoSuchMethod',
];

/** Keys that other servers were found open with, and odd ones. */
const WRONG_KEYS = [
  '',
  'root:Milvus',
  'Bearer root:Milvus',
  'admin',
  'default',
  'null',
  'undefined',
  '__proto__',
  'constructor',
  '*',
  'é',
  'x'.repeat(8_000),
];

const POINT = JSON.stringify({ vector: [], payload: {} });

underAttack('the key, and ways around it', [
  {
    name: 'calls without a key or with another one, each with a message',
    async strike(target) {
      const connection = new Connection(target.server.grpc);
      const message = framed(Buffer.alloc(10_000, 0xff));
      const codes = await times(200, async (index) => {
        const key = WRONG_KEYS[index % WRONG_KEYS.length] ?? '';
        const headers = index % 2 === 0 ? {} : { authorization: key };
        return await connection.call(METHODS[index % METHODS.length] ?? '', headers, message);
      });
      expect(new Set(codes)).toEqual(new Set([status.UNAUTHENTICATED]));
      connection.close();
    },
  },
  {
    name: 'requests without a key or with another one, each with a body',
    async strike(target) {
      const codes = await times(100, async (index) => {
        const key = encodeURI(WRONG_KEYS[index % WRONG_KEYS.length] ?? '');
        const headers: Record<string, string> = index % 2 === 0 ? {} : { 'api-key': key };
        const path = ['/points', '/points/batch', '/points/search', '/points/x/y'][index % 4] ?? '';
        return (await ask(target, 'POST', path, '['.repeat(10_000), headers)).status;
      });
      expect(new Set(codes)).toEqual(new Set([401]));
    },
  },
  {
    name: 'a key guessed character by character',
    async strike(target) {
      const right = target.server.keys.readwrite;
      const guesses = Array.from(right, (_, length) => right.slice(0, length));
      const codes = await times(guesses.length, async (index) => {
        const headers = { 'api-key': `${guesses[index]}!` };
        return (await ask(target, 'POST', '/points', POINT, headers)).status;
      });
      expect(new Set(codes)).toEqual(new Set([401]));
    },
  },
  {
    name: 'the same key twice, or two of them',
    async strike(target) {
      const { readwrite, readonly } = target.server.keys;
      for (const [first, second] of [
        [readwrite, readwrite],
        [readonly, readwrite],
        ['x', readwrite],
      ] as const) {
        const twice = `api-key: ${first}\r\napi-key: ${second}\r\n`;
        const answer = await sendRaw(
          target.server,
          `GET /points/x HTTP/1.1\r\nHost: x\r\n${twice}Connection: close\r\n\r\n`,
        );
        expect(statusOf(answer)).toBe(401);
        const fields: (readonly [string, string])[] = [
          [':method', 'POST'],
          [':scheme', 'http'],
          [':path', '/vectordb.VectorDB/SearchPoints'],
          [':authority', 'x'],
          ['content-type', 'application/grpc'],
          ['te', 'trailers'],
          ['authorization', first],
          ['authorization', second],
        ];
        const { data } = await rawCall(target.server.grpc, fields, target.searchMessage);
        expect(data).toHaveLength(0);
      }
    },
  },
  {
    name: 'a second door',
    async strike(target) {
      const ports = [target.server.http, target.server.grpc].map((address) =>
        Number(/\d+$/.exec(address)?.[0]),
      );
      expect(listeningPorts(target).toSorted()).toEqual(ports.toSorted());
      for (const path of ['/expr', '/debug/pprof', '/_cat', '/api/v2/version', '/management']) {
        expect((await ask(target, 'GET', path)).status).toBe(404);
      }
    },
  },
  {
    name: 'other spellings of a path',
    async strike(target) {
      const paths = [
        '/POINTS',
        '/Points/search',
        '/points/',
        '//points',
        '/./points',
        '/x/../points',
        '/%70oints',
        '/points%2fsearch',
        '/points;a=b',
        '/points\\search',
        '/health/../points',
        '/points%00',
        'http://x/points',
        'http://x//points',
      ];
      for (const path of paths) {
        const answer = await sendRaw(
          target.server,
          `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
        );
        const isBelow = path === '/points/' || path === 'http://x/points';
        expect(statusOf(answer), path).toBe(isBelow ? 401 : 404);
      }
    },
  },
  {
    name: 'ids that are paths',
    async strike(target) {
      const { readwrite, readonly } = target.server.keys;
      const ids = ['../../keys.json', '..%2f..%2fkeys.json', '/etc/passwd', 'C:\\x', '.', 'a\0b'];
      const connection = new Connection(target.server.grpc);
      for (const id of ids) {
        const answer = await sendRaw(
          target.server,
          `GET /points/${id} HTTP/1.1\r\nHost: x\r\napi-key: ${readwrite}\r\n` +
            'Connection: close\r\n\r\n',
        );
        // No text of a request may hold a zero.
        expect(statusOf(answer), id).toBe(id.includes('\0') ? 400 : 404);
        expect(answer).not.toContain(readonly);
        const message = framed(wire.delimited(1, wire.delimited(1, id)));
        const headers = { authorization: readwrite };
        for (const method of ['GetPoint', 'DeletePoint']) {
          expect(await connection.call(method, headers, message)).toBe(status.INVALID_ARGUMENT);
        }
      }
      connection.close();
    },
  },
  {
    name: 'names that every object has',
    async strike(target) {
      const vector = JSON.stringify(target.query);
      const bodies = [
        `{"__proto__":{"vector":${vector}},"similarity":"Euclidean","limit":1}`,
        `{"vector":${vector},"similarity":"__proto__","limit":1}`,
        `{"vector":${vector},"similarity":"constructor","limit":1}`,
        `{"vector":${vector},"similarity":"toString","limit":1}`,
        `{"constructor":{"prototype":{"limit":1}},"vector":${vector},"similarity":"Euclidean"}`,
        `{"vector":{"__proto__":[],"length":${DIMENSION}},"similarity":"Euclidean","limit":1}`,
      ];
      for (const body of bodies) {
        expect((await ask(target, 'POST', '/points/search', body)).status, body).toBe(400);
      }
      const harmless = `{"__proto__":{"limit":5},"vector":${vector},"similarity":"Cosine","limit":1}`;
      const { text } = await ask(target, 'POST', '/points/search', harmless);
      const answer = JSON.parse(text) as { results?: unknown[] };
      expect(answer.results).toHaveLength(1);
      for (const name of ['__proto__', 'constructor', 'hasOwnProperty']) {
        expect((await ask(target, 'GET', `/${name}`)).status).toBe(404);
        expect((await ask(target, 'GET', `/points/${name}`)).status).toBe(404);
      }
    },
  },
]);

/** The ports that a process listens on, over IPv4 and IPv6, as the system tells. */
function listeningPorts(target: Target): number[] {
  const sockets = new Set(target.socketInodes());
  return ['tcp', 'tcp6'].flatMap((family) => {
    const table = readFileSync(`/proc/${target.server.pid}/net/${family}`, 'utf8');
    return table
      .trim()
      .split('\n')
      .map((row) => row.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode = '']) => state === '0A' && sockets.has(inode))
      .map(([, local = '']) => Number.parseInt(local.split(':')[1] ?? '', 16));
  });
}
