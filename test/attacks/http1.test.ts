import { setTimeout as sleep } from 'node:timers/promises';
import { status as grpcStatus } from '@grpc/grpc-js';
import { expect } from 'vitest';
import { DRAIN_MS } from '../../src/http/reply.js';
import { Connection, framed } from '../grpc/http2-call.js';
import { ask, endAll, many, openAll, RawConnection, times } from './flood.js';
import { LIMITS, MIB, type Target } from './target.js';
import { underAttack } from './under-attack.js';

const HEALTH = 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n';
const SPEC = 'GET /docs/openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n';
const CONNECTIONS = 100;
/** From as many a client has to be served as ever. */
const FEW = 10;

function insertHead(target: Target, ...lines: readonly string[]): string {
  const all = ['POST /points HTTP/1.1', 'Host: x', `api-key: ${target.server.keys.readwrite}`];
  return `${[...all, ...lines].join('\r\n')}\r\n\r\n`;
}

async function open(target: Target, text: string | Uint8Array = ''): Promise<RawConnection> {
  const connection = new RawConnection(target.server.http).read();
  await connection.send(text);
  return connection;
}

/** The statuses that a connection has been answered with, once there are so many or it is closed. */
async function statuses(target: Target, connection: RawConnection, count: number) {
  const found = () => connection.received.match(/HTTP\/1\.1 (?!100)\d{3}/g) ?? [];
  await target.until(() => found().length >= count || connection.isClosed, 5_000);
  return found().map((line) => Number(line.slice(-3)));
}

/** Whether a client is served that connects now. */
async function isServedAnew(target: Target): Promise<boolean> {
  try {
    const answer = await ask(target, 'POST', '/points/search', target.searchJson);
    return answer.status === 200;
  } catch {
    // There was no place for it yet.
    return false;
  }
}

/** Sends something on each of many connections, a little at a time, and then gives up. */
function slowly(start: (target: Target) => string, more: string) {
  return async (target: Target): Promise<void> => {
    const connections = await openAll(target.server.http, CONNECTIONS);
    for (const connection of connections) await connection.send(start(target));
    for (let round = 0; round < 5; round += 1) {
      for (const connection of connections) await connection.send(more);
      await sleep(20);
    }
    await endAll(connections);
  };
}

underAttack('clients that are slow, or many', [
  {
    name: 'headers that arrive a few bytes at a time',
    mayDelay: true,
    strike: slowly(() => 'GET /health HTTP/1.1\r\nHost: x\r\n', 'x: y\r\n'),
  },
  {
    name: 'bodies that arrive a few bytes at a time',
    mayDelay: true,
    strike: slowly((target) => insertHead(target, 'Content-Length: 1000'), '   '),
  },
  {
    name: 'bodies that wait for 100 Continue and never come',
    mayDelay: true,
    strike: slowly((target) => insertHead(target, 'Expect: 100-continue', 'Content-Length: 9'), ''),
  },
  {
    name: 'more connections than there may be, on HTTP',
    mayDelay: true,
    strike: async (target) => await crowd(target, target.server.http),
  },
  {
    name: 'more connections than there may be, on gRPC',
    mayDelay: true,
    strike: async (target) => await crowd(target, target.server.grpc),
  },
  {
    name: 'as many connections as there may be, which ask for nothing more, or for nothing',
    mayDelay: true,
    async strike(target) {
      const idle = await openAll(target.server.http, Number(LIMITS.MAX_CONNECTIONS));
      const half = idle.slice(0, idle.length / 2);
      await Promise.all(half.map(async (connection) => await connection.read().send(HEALTH)));
      // Sooner than connections that send nothing are closed anyway.
      expect(await target.until(async () => await isServedAnew(target), 20_000)).toBe(true);
      await endAll(idle);
    },
  },
  {
    name: 'as many connections as there may be, which ask for what needs no key, over and over',
    mayDelay: true,
    async strike(target) {
      const all: RawConnection[] = [];
      const asking = setInterval(() => {
        for (const connection of all) void connection.send(HEALTH);
      }, 200);
      all.push(...(await openAll(target.server.http, Number(LIMITS.MAX_CONNECTIONS))));
      for (const connection of all) connection.read();
      // By then others that were idle have given way: these are for their places.
      await sleep(1_500);
      const more = await openAll(target.server.http, 20);
      // They read no answer, and so have always some under way.
      for (const connection of more) void connection.send(many(SPEC, 16 * 1024));
      expect(await target.until(async () => await isServedAnew(target), 20_000)).toBe(true);
      clearInterval(asking);
      await endAll([...all, ...more]);
    },
  },
  {
    name: 'as many connections as there may be and more, beside clients with a key that idle',
    mayDelay: true,
    async strike(target) {
      const { http, grpc, keys } = target.server;
      const isAnsweredOverHttp = async (client: RawConnection): Promise<boolean> => {
        const before = client.received.length;
        await client.send(`GET /v1/info HTTP/1.1\r\nHost: x\r\napi-key: ${keys.readonly}\r\n\r\n`);
        const isAnswered = (): boolean => client.received.slice(before).startsWith('HTTP/1.1 200');
        return (await target.until(() => isAnswered() || client.isClosed)) && !client.isClosed;
      };
      const isAnsweredOverGrpc = async (client: Connection): Promise<boolean> => {
        const message = framed(target.searchMessage);
        const headers = { authorization: keys.readonly };
        return (await client.call('SearchPoints', headers, message)) === grpcStatus.OK;
      };
      // Until its first call a client is one of many without a key, whose places others may take: those
      // of the strike before are still there.
      let overHttp = await open(target);
      const servedOverHttp = target.until(async () => {
        if (await isAnsweredOverHttp(overHttp)) return true;
        overHttp = await open(target);
        return false;
      });
      expect(await servedOverHttp).toBe(true);
      let overGrpc = new Connection(grpc);
      const servedOverGrpc = target.until(async () => {
        const { closed, destroyed } = overGrpc.session;
        if (!closed && !destroyed && (await isAnsweredOverGrpc(overGrpc))) return true;
        overGrpc.close();
        overGrpc = new Connection(grpc);
        return false;
      });
      expect(await servedOverGrpc).toBe(true);
      const silent: RawConnection[] = [];
      for (const address of [http, grpc]) silent.push(...(await openAll(address, 300)));
      // Longer than a connection without a key may idle; in each look of the service all are taken.
      for (let round = 0; round < 20; round += 1) {
        await sleep(100);
        for (const address of [http, grpc]) silent.push(...(await openAll(address, 5)));
      }
      expect(await isAnsweredOverHttp(overHttp)).toBe(true);
      expect(await isAnsweredOverGrpc(overGrpc)).toBe(true);
      overGrpc.close();
      await endAll([...silent, overHttp]);
    },
  },
  {
    name: 'connections that are opened and reset',
    mayDelay: true,
    async strike(target) {
      for (const address of [target.server.http, target.server.grpc]) {
        const connections = await openAll(address, 100);
        for (const { socket } of connections) socket.resetAndDestroy();
      }
    },
  },
  {
    name: 'thousands of requests at once on a connection whose answers nobody reads',
    async strike(target) {
      const connections = await openAll(target.server.http, FEW);
      for (const connection of connections) void connection.send(many(SPEC, MIB));
      await sleep(300);
      await endAll(connections);
    },
  },
  {
    name: 'as many requests at once as a connection may have, all answered in their order',
    async strike(target) {
      const connection = await open(target, many(HEALTH, 64 * HEALTH.length));
      expect(await statuses(target, connection, 64)).toEqual(Array(64).fill(200));
      await connection.end();
    },
  },
  {
    name: 'a thousand requests at once',
    async strike(target) {
      const connection = await open(target, many(HEALTH, 1_000 * HEALTH.length));
      expect(await connection.closes()).toBe(true);
    },
  },
  {
    name: 'large answers that nobody reads',
    mayDelay: true,
    async strike(target) {
      // Those of the last strike are found dead one after the other, when they are written to.
      expect(await target.until(() => target.sockets() < CONNECTIONS)).toBe(true);
      const body = JSON.stringify({
        vector: target.query,
        payload: { content_type: 'Text', content: 'x'.repeat(MIB) },
      });
      const { text } = await ask(target, 'POST', '/points', body);
      const { point_id: id } = JSON.parse(text) as { point_id: string };
      const key = target.server.keys.readwrite;
      const get = `GET /points/${id} HTTP/1.1\r\nHost: x\r\napi-key: ${key}\r\n\r\n`;
      const connections = await openAll(target.server.http, CONNECTIONS);
      for (const connection of connections) void connection.send(many(get, 20 * get.length));
      await sleep(300);
      await endAll(connections);
      expect((await ask(target, 'DELETE', `/points/${id}`)).status).toBe(204);
    },
  },
]);

underAttack('HTTP/1.1 that breaks its rules', [
  {
    name: 'a Content-Length beside a Transfer-Encoding, and what it smuggles',
    async strike(target) {
      const smuggled = insertHead(target, 'Content-Length: 2') + '{}';
      const lines = [`Content-Length: ${smuggled.length + 5}`, 'Transfer-Encoding: chunked'];
      const variants = [
        insertHead(target, ...lines),
        insertHead(target, ...lines.toReversed()),
        insertHead(target, 'Transfer-Encoding: chunked', 'Transfer-Encoding: identity'),
        insertHead(target, 'Transfer-Encoding: xchunked', 'Content-Length: 5'),
        insertHead(target, 'Content-Length: 5', 'Content-Length: 6'),
        insertHead(target, 'Content-Length: +5'),
        insertHead(target, 'Content-Length : 5'),
        insertHead(target, 'X: y\n Transfer-Encoding: chunked'),
      ];
      await times(variants.length, async (index) => {
        const connection = await open(target, `${variants[index] ?? ''}0\r\n\r\n${smuggled}`);
        expect(await connection.closes()).toBe(true);
        expect(await statuses(target, connection, 1)).toEqual([400]);
      });
    },
  },
  {
    name: 'headers without end',
    async strike(target) {
      await times(FEW, async () => {
        const connection = await open(target, 'GET /health HTTP/1.1\r\nHost: x\r\n');
        await connection.flood(many(`x: ${'y'.repeat(1_000)}\r\n`, 64 * 1024), MIB);
        expect(await connection.closes()).toBe(true);
      });
    },
  },
  {
    name: 'headers of proxies, which would have a server that trusts them redirect or count for long',
    async strike(target) {
      for (const header of [
        `X-Forwarded-For: ${','.repeat(12_000)}`,
        `X-Forwarded-Host: ${' ,'.repeat(6_000)}x`,
        `X-Forwarded-Proto: https${'\t '.repeat(6_000)},`,
        'Host: evil.example:80@x/..//',
        'Referer: //evil.example/%0d%0aLocation: x',
      ]) {
        const host = header.startsWith('Host') ? '' : 'Host: x\r\n';
        const text = `GET /points/..//evil.example HTTP/1.1\r\n${host}${header}\r\n\r\n`;
        const all = await openAll(target.server.http, FEW);
        await Promise.all(all.map(async (each) => await each.read().send(text)));
        const isAnswered = ({ received }: RawConnection): boolean => received.includes('\r\n\r\n');
        expect(await target.until(() => all.every(isAnswered), 5_000)).toBe(true);
        for (const { received } of all) {
          expect(received).toMatch(/^HTTP\/1\.1 40[014] /);
          expect(received).not.toMatch(/^location:|evil/im);
        }
        await Promise.all(all.map(async (each) => await each.end()));
      }
    },
  },
  {
    name: 'thousands of small headers',
    async strike(target) {
      await times(FEW, async () => {
        const lines = many('a:b\r\n', 15_000);
        const connection = await open(target, `GET /health HTTP/1.1\r\nHost: x\r\n`);
        await connection.send(`${lines.toString()}\r\n`);
        expect(await statuses(target, connection, 1)).toHaveLength(1);
        await connection.end();
      });
    },
  },
  {
    name: 'chunk extensions without end',
    mayDelay: true,
    async strike(target) {
      const connection = await open(target, insertHead(target, 'Transfer-Encoding: chunked'));
      await connection.flood(many(`1;${'x'.repeat(1_000)}\r\nx\r\n`));
      await connection.end();
    },
  },
  {
    name: 'a body in chunks of a byte',
    mayDelay: true,
    async strike(target) {
      const connection = await open(target, insertHead(target, 'Transfer-Encoding: chunked'));
      await connection.flood(many('1\r\n \r\n'));
      await connection.end();
    },
  },
  {
    name: 'bodies in chunks of a byte, without a key',
    async strike(target) {
      const start = 'POST /points HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
      await times(FEW, async () => {
        const connection = await open(target, start);
        await connection.flood(many('1\r\n \r\n'), 2 * MIB);
        expect(await connection.closes(2 * DRAIN_MS)).toBe(true);
        expect(connection.received).toMatch(/^(?:HTTP\/1\.1 401|$)/);
      });
    },
  },
  {
    name: 'upgrades, CONNECT, TRACE, and what other servers take for requests',
    async strike(target) {
      const requests: readonly (readonly [number, string])[] = [
        [200, 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n'],
        [
          200,
          'GET /health HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
        ],
        [405, 'CONNECT localhost:1 HTTP/1.1\r\nHost: x\r\n\r\n'],
        [401, 'TRACE /points HTTP/1.1\r\nHost: x\r\n\r\n'],
        [400, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
        [404, 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n'],
        [400, 'GET /health HTTP/3.7\r\nHost: x\r\n\r\n'],
        [400, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
        [400, `${'\r\n'.repeat(5_000)}NONSENSE`],
      ];
      await times(10 * requests.length, async (index) => {
        const [status, request] = requests[index % requests.length] ?? [200, HEALTH];
        const connection = await open(target, request);
        expect(await statuses(target, connection, 1), request).toEqual([status]);
        await connection.end();
      });
    },
  },
]);

/** Opens more connections than there may be: the others go on, and those too many are closed. */
async function crowd(target: Target, address: string): Promise<void> {
  const connections = await openAll(address, 400);
  const refused = () => connections.filter(({ isClosed }) => isClosed).length;
  expect(await target.until(() => refused() > 100, 5_000)).toBe(true);
  await endAll(connections);
}
