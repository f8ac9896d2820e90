import { constants } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { expect } from 'vitest';
import { Connection, framed, NO_STATUS } from '../grpc/http2-call.js';
import {
  BEGIN,
  CONTINUATION,
  DATA,
  END_HEADERS,
  frame,
  HEADERS,
  headOf,
  literal,
  PING,
  PRIORITY,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from '../grpc/raw-http2.js';
import { ask, endAll, many, openAll, RawConnection, times } from './flood.js';
import { LIMITS, MIB, type Target } from './target.js';
import { underAttack } from './under-attack.js';

const CHECK = '/grpc.health.v1.Health/Check';
const WATCH = '/grpc.health.v1.Health/Watch';
const EMPTY = Buffer.alloc(0);

/** A connection on which frames are sent as they are, and answers are read and dropped. */
async function open(target: Target): Promise<RawConnection> {
  const connection = new RawConnection(target.server.grpc).read();
  await connection.send(BEGIN);
  return connection;
}

/** Something that is sent on one connection until the server closes it. */
function floodOf(bytes: Buffer, before: Buffer = EMPTY) {
  return async (target: Target): Promise<void> => {
    const connection = await open(target);
    await connection.send(before);
    await connection.flood(many(bytes));
    expect(await connection.closes()).toBe(true);
  };
}

const callOne = frame(HEADERS, END_HEADERS, 1, headOf(CHECK));

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

underAttack('frames that bring nothing on', [
  { name: 'pings', strike: floodOf(frame(PING, 0, 0, Buffer.alloc(8))) },
  {
    name: 'settings',
    strike: floodOf(frame(SETTINGS, 0, 0, Buffer.from('000400010000', 'hex'))),
  },
  { name: 'window updates', strike: floodOf(frame(WINDOW_UPDATE, 0, 0, uint32(1)), callOne) },
  { name: 'priorities', strike: floodOf(frame(PRIORITY, 0, 3, Buffer.from('0000000010', 'hex'))) },
  { name: 'empty data', strike: floodOf(frame(DATA, 0, 1, EMPTY), callOne) },
  { name: 'frames of no known type', strike: floodOf(frame(0x4d, 0, 0, Buffer.alloc(100))) },
  {
    name: 'a message in pieces of a byte',
    mayDelay: true,
    async strike(target) {
      const connection = await open(target);
      const key: readonly [string, string] = ['authorization', target.server.keys.readwrite];
      const path = '/vectordb.VectorDB/InsertVectorsBatch';
      await connection.send(frame(HEADERS, END_HEADERS, 1, headOf(path, key)));
      await connection.send(frame(DATA, 0, 1, Buffer.of(0, 0, 0x70, 0, 0)));
      await connection.flood(many(frame(DATA, 0, 1, Buffer.of(0))), MIB);
      await connection.end();
    },
  },
  {
    name: 'pings from a client that reads no answer',
    async strike(target) {
      const connection = new RawConnection(target.server.grpc);
      await connection.send(BEGIN);
      await connection.flood(many(frame(PING, 0, 0, Buffer.alloc(8))));
      await connection.end();
    },
  },
]);

underAttack('HTTP/2 that breaks its rules', [
  {
    name: 'rapid reset',
    async strike(target) {
      const connection = await open(target);
      const block = headOf('/vectordb.VectorDB/SearchPoints');
      const resets = Array.from({ length: 5_000 }, (_, index) => {
        const stream = 2 * index + 1;
        const reset = frame(RST_STREAM, 0, stream, uint32(index % 14));
        return Buffer.concat([frame(HEADERS, END_HEADERS, stream, block), reset]);
      });
      await connection.send(Buffer.concat(resets));
      expect(await connection.isGivenUp()).toBe(true);
    },
  },
  {
    name: 'headers that never end',
    async strike(target) {
      const connection = await open(target);
      await connection.send(frame(HEADERS, 0, 1, headOf(CHECK)));
      const more = Buffer.concat(Array<Buffer>(50).fill(literal(['x', 'y'.repeat(100)])));
      await connection.flood(many(frame(CONTINUATION, 0, 1, more)));
      expect(await connection.isGivenUp()).toBe(true);
    },
  },
  {
    name: 'headers without content that never end',
    async strike(target) {
      const connection = await open(target);
      await connection.send(frame(HEADERS, 0, 1, headOf(CHECK)));
      await connection.flood(many(frame(CONTINUATION, 0, 1, EMPTY)));
      expect(await connection.isGivenUp()).toBe(true);
    },
  },
  {
    name: 'headers that unpack to far more than they take',
    async strike(target) {
      const connection = await open(target);
      // A header of 4,000 bytes into the table, then the same entry 4,000 times.
      const value = Buffer.concat([Buffer.of(0x7f, 0xa1, 0x1e), Buffer.alloc(4_000, 0x79)]);
      const entry = Buffer.concat([Buffer.of(0x40, 1, 0x78), value]);
      const calls = Array.from({ length: 50 }, (_, index) => {
        const repeated = Buffer.alloc(4_000, 0xbe);
        const block = Buffer.concat([headOf(CHECK), entry, repeated]);
        return frame(HEADERS, END_HEADERS, 2 * index + 1, block);
      });
      await connection.send(Buffer.concat(calls));
      await sleep(50);
      await connection.end();
    },
  },
  {
    name: 'windows beyond what they may be, on connections and calls (CVE-2026-21714)',
    mayDelay: true,
    async strike(target) {
      const greatest = uint32(0x7fffffff);
      await times(20, async () => {
        const connection = await open(target);
        await connection.send(callOne);
        await connection.send(frame(WINDOW_UPDATE, 0, 1, greatest));
        await connection.send(frame(WINDOW_UPDATE, 0, 0, greatest));
        expect(await connection.isGivenUp()).toBe(true);
      });
    },
  },
  {
    name: 'frames that are cut, too long, or for calls that do not exist',
    async strike(target) {
      const frames = [
        frame(DATA, 0, 77, Buffer.alloc(10)),
        frame(HEADERS, END_HEADERS, 2, headOf(CHECK)),
        frame(HEADERS, END_HEADERS, 1, Buffer.alloc(100, 0xff)),
        frame(PING, 0, 0, Buffer.alloc(7)),
        frame(SETTINGS, 0, 0, Buffer.alloc(5)),
        frame(RST_STREAM, 0, 0, uint32(0)),
        frame(DATA, 0, 1, Buffer.alloc(20_000)),
        Buffer.concat([frame(HEADERS, 0, 1, headOf(CHECK)), frame(CONTINUATION, 0, 3, EMPTY)]),
      ];
      const connections = await times(frames.length, async (index) => {
        const connection = await open(target);
        await connection.send(frames[index] ?? EMPTY);
        return connection;
      });
      for (const connection of connections) expect(await connection.isGivenUp()).toBe(true);
    },
  },
  {
    name: 'what is no HTTP/2',
    mayDelay: true,
    async strike(target) {
      const texts = ['GET / HTTP/1.1\r\nHost: x\r\n\r\n', '\x16\x03\x01\x02\x00', 'PRI * HTTP/2.1'];
      const connections = await times(30, async (index) => {
        const connection = new RawConnection(target.server.grpc).read();
        await connection.send((texts[index % 3] ?? '').padEnd(100, '\0'));
        return connection;
      });
      for (const connection of connections) expect(await connection.isGivenUp()).toBe(true);
    },
  },
]);

underAttack('calls that are never finished', [
  {
    name: 'calls that never end, without a key',
    mayDelay: true,
    async strike(target) {
      const connections = Array.from({ length: 20 }, () => new Connection(target.server.grpc));
      const calls = connections.flatMap((connection) =>
        Array.from({ length: 250 }, () => connection.open('InsertVector')),
      );
      const codes = new Set(await Promise.all(calls.map((call) => call.status)));
      codes.delete(status.RESOURCE_EXHAUSTED);
      // A client on a busy machine answers a ping too late, and the server closes its connection.
      codes.delete(NO_STATUS);
      expect([...codes]).toEqual([status.UNAUTHENTICATED]);
      for (const connection of connections) connection.close();
    },
  },
  {
    name: 'health checks that never end, 64 KiB of each sent',
    mayDelay: true,
    async strike(target) {
      const piece = Buffer.concat([Buffer.of(0, 0, 0, 0xff, 0), Buffer.alloc(60_000)]);
      const connections = Array.from({ length: 20 }, () => new Connection(target.server.grpc));
      for (const connection of connections) {
        for (let call = 0; call < 250; call += 1) connection.open(CHECK).stream.write(piece);
      }
      await Promise.all(connections.map((connection) => connection.settled()));
      // Somebody else asks how the service is, and somebody with a key goes on.
      const other = new Connection(target.server.grpc);
      expect(await other.call(CHECK, {}, framed(EMPTY))).toBe(status.OK);
      other.close();
      for (const connection of connections) connection.close();
    },
  },
  {
    name: 'calls of no gRPC, and of no method, that never end',
    async strike(target) {
      const connection = new Connection(target.server.grpc);
      const calls = Array.from({ length: 240 }, (_, index) =>
        index % 2 === 0
          ? connection.open('InsertVector', { 'content-type': 'text/html' })
          : connection.open('/no.Service/Method'),
      );
      for (const { closed } of calls) await closed;
      connection.close();
    },
  },
  {
    name: 'thousands who watch the health',
    mayDelay: true,
    async strike(target) {
      const connections = Array.from({ length: 20 }, () => new Connection(target.server.grpc));
      for (const connection of connections) {
        for (let call = 0; call < 250; call += 1) connection.open(WATCH).stream.end(framed(EMPTY));
      }
      await Promise.all(connections.map((connection) => connection.settled()));
      await sleep(1_200);
      for (const connection of connections) connection.close();
    },
  },
  {
    name: 'calls without a message, with two, and with half of one',
    async strike(target) {
      const connection = new Connection(target.server.grpc);
      const headers = { authorization: target.server.keys.readwrite };
      const message = framed(target.searchMessage);
      const send = async (bytes: Buffer): Promise<number> =>
        await connection.call('SearchPoints', headers, bytes);
      for (let round = 0; round < 10; round += 1) {
        expect(await send(EMPTY)).toBe(status.UNIMPLEMENTED);
        expect(await send(Buffer.concat([message, message]))).toBe(status.UNIMPLEMENTED);
        const half = connection.open('SearchPoints', headers);
        half.stream.write(message.subarray(0, 50));
        half.stream.close(constants.NGHTTP2_CANCEL);
        expect([NO_STATUS, status.CANCELLED]).toContain(await half.status);
      }
      connection.close();
    },
  },
  {
    name: 'as many connections as there may be, which ask for nothing',
    mayDelay: true,
    async strike(target) {
      const silent = await openAll(target.server.grpc, Number(LIMITS.MAX_CONNECTIONS));
      expect(await target.until(async () => await isServedAnew(target))).toBe(true);
      await endAll(silent);
    },
  },
  {
    name: 'as many connections as there may be, which each watch the health',
    mayDelay: true,
    async strike(target) {
      const count = Number(LIMITS.MAX_CONNECTIONS);
      const watching = Array.from({ length: count }, () => new Connection(target.server.grpc));
      for (const connection of watching) connection.open(WATCH).stream.end(framed(EMPTY));
      expect(await target.until(async () => await isServedAnew(target))).toBe(true);
      for (const connection of watching) connection.close();
    },
  },
  {
    name: 'as many connections as there may be, which call without a key, over and over',
    mayDelay: true,
    async strike(target) {
      const count = Number(LIMITS.MAX_CONNECTIONS);
      const calling = Array.from({ length: count }, () => new Connection(target.server.grpc));
      const call = setInterval(() => {
        for (const connection of calling) {
          if (!connection.session.destroyed) connection.open('SearchPoints').stream.end();
        }
      }, 200);
      expect(await target.until(async () => await isServedAnew(target))).toBe(true);
      clearInterval(call);
      for (const connection of calling) connection.close();
    },
  },
  {
    name: 'connections that say nothing, and others that open none of their calls',
    mayDelay: true,
    async strike(target) {
      const silent = await openAll(target.server.grpc, 100);
      const idle = await times(100, async () => await open(target));
      await sleep(100);
      await endAll([...silent, ...idle]);
    },
  },
  {
    name: 'answers that are never read',
    mayDelay: true,
    async strike(target) {
      const insert = new Connection(target.server.grpc);
      const headers = { authorization: target.server.keys.readwrite };
      const ids = await largePoint(target);
      const connections = Array.from({ length: 4 }, () => new Connection(target.server.grpc));
      for (const connection of connections) {
        for (let call = 0; call < 250; call += 1) {
          const { stream } = connection.open('GetPoint', headers);
          stream.pause();
          stream.end(framed(ids.message));
        }
      }
      await sleep(300);
      for (const connection of connections) connection.close();
      await insert.call('DeletePoint', headers, framed(ids.message));
      insert.close();
    },
  },
]);

/** Whether a client is served that connects now. */
async function isServedAnew(target: Target): Promise<boolean> {
  const other = new Connection(target.server.grpc);
  const headers = { authorization: target.server.keys.readonly };
  const code = await other.call('SearchPoints', headers, framed(target.searchMessage));
  other.close();
  return code === status.OK;
}

/** A point whose content is as long as it may be, and the message that asks for it. */
async function largePoint(target: Target): Promise<{ id: string; message: Buffer }> {
  const payload = { content_type: 'Text', content: 'x'.repeat(MIB) };
  const { text } = await ask(
    target,
    'POST',
    '/points',
    JSON.stringify({ vector: target.query, payload }),
  );
  const { point_id: id } = JSON.parse(text) as { point_id: string };
  return { id, message: pointId(id) };
}

function pointId(id: string): Buffer {
  return Buffer.concat([Buffer.of(0x0a, id.length + 2, 0x0a, id.length), Buffer.from(id)]);
}
