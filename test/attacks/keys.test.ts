import { readFileSync } from 'node:fs';
import { status } from '@grpc/grpc-js';
import { expect } from 'vitest';
import { Connection, framed } from '../grpc/http2-call.js';
import { METHODS } from '../grpc/model.js';
import { sendRaw, statusOf } from '../http/client.js';
import { ask, times } from './flood.js';
import type { Target } from './target.js';
import { underAttack } from './under-attack.js';

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

underAttack('the key, and ways around it', [
  {
    name: 'calls without a key or with another one, each with a message',
    async strike(target) {
      const connection = new Connection(target.server.grpc);
      const message = framed(Buffer.alloc(10_000, 0xff));
      const codes = await times(200, async (index) => {
        const key = WRONG_KEYS[index % WRONG_KEYS.length] ?? '';
        const headers = index % 2 === 0 ? {} : { authorization: key };
        const method = METHODS[index % METHODS.length] ?? '';
        return await connection.call(method, headers, message);
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
      for (const id of ids) {
        const answer = await sendRaw(
          target.server,
          `GET /points/${id} HTTP/1.1\r\nHost: x\r\napi-key: ${readwrite}\r\n` +
            'Connection: close\r\n\r\n',
        );
        // No text of a request may hold a zero.
        expect(statusOf(answer), id).toBe(id.includes('\0') ? 400 : 404);
        expect(answer).not.toContain(readonly);
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
