import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Connection } from '../grpc/http2-call.js';
import { BEGIN, connectTo, frame, framesIn, PING, resetCalls } from '../grpc/raw-http2.js';
import { startServer, type TestServer } from '../support/server.js';

const ASK = frame(PING, 0, 0, Buffer.alloc(8));
const HEALTH = '/grpc.health.v1.Health/Check';
const TRUSTED = { TRUSTED_PROXIES: '10.0.0.0/8, 127.0.0.0/8' };
/** A header says that the client is a trusted one, and nobody believes it. */
const FORWARDED = ['x-forwarded-for', '10.0.0.1'] as const;
const OTHER = { TRUSTED_PROXIES: '10.0.0.0/8' };

function open(server: TestServer): Connection {
  const connection = new Connection(server.grpc);
  onTestFinished(() => connection.close());
  return connection;
}

/** Resets calls without a key; answers whether the connection is still there afterwards. */
async function survivesResets(
  server: TestServer,
  ...headers: (readonly [string, string])[]
): Promise<boolean> {
  const socket = connectTo(server.grpc);
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write(Buffer.concat([BEGIN, resetCalls(HEALTH, 1, 100, ...headers), ASK]));
  let received = Buffer.alloc(0);
  let answered = 0;
  return await new Promise((resolve) => {
    socket.once('close', () => resolve(false));
    socket.on('data', (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      // Some may still be answered of a connection that is about to be closed.
      const answers = framesIn(received).filter(({ type }) => type === PING).length;
      if (answers === 20) resolve(true);
      else if (answers > answered) socket.write(ASK);
      answered = answers;
    });
  });
}

/** Sends requests without waiting for answers; answers how many come. */
async function pipelined(server: TestServer, count: number, headers = ''): Promise<number> {
  const { hostname, port } = new URL(server.http);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  const request = `GET /health HTTP/1.1\r\nHost: x\r\n${headers}`;
  socket.write(`${request}\r\n`.repeat(count - 1) + `${request}Connection: close\r\n\r\n`);
  let answers = '';
  socket.setEncoding('latin1').on('data', (text: string) => (answers += text));
  await once(socket, 'close');
  return answers.split('HTTP/1.1 200').length - 1;
}

describe('a connection of a trusted proxy', () => {
  test('may have many calls open, reset them and send requests without waiting', async () => {
    const server = await startServer({ env: TRUSTED });
    const { session } = open(server);
    await once(session, 'remoteSettings');
    expect(session.remoteSettings.maxConcurrentStreams).toBe(4_096);
    expect(await survivesResets(server)).toBe(true);
    expect(await pipelined(server, 500)).toBe(500);
  });

  test('is not evicted', async () => {
    const server = await startServer({ env: { ...TRUSTED, MAX_CONNECTIONS: '2' } });
    const idle = open(server);
    await once(idle.session, 'remoteSettings');
    const other = connect(Number(server.grpc.split(':')[1]), '127.0.0.1');
    onTestFinished(() => void other.destroy());
    other.on('error', () => {});
    // Any other would be evicted after a second.
    await sleep(1_500);
    const third = connect(Number(server.grpc.split(':')[1]), '127.0.0.1');
    third.on('error', () => {});
    await once(third.resume(), 'close');
    await vi.waitFor(() => expect(server.log()).toContain('accept_timeout'));
    expect(idle.session.closed).toBe(false);
    expect(server.log()).not.toContain('evicted');
  });
});

test('a connection of anyone else has its limits, whatever its headers say', async () => {
  const server = await startServer({ env: OTHER });
  const { session } = open(server);
  await once(session, 'remoteSettings');
  expect(session.remoteSettings.maxConcurrentStreams).toBeLessThan(1_000);
  expect(await survivesResets(server, FORWARDED)).toBe(false);
  expect(await pipelined(server, 500, 'X-Forwarded-For: 10.0.0.1\r\n')).toBeLessThan(500);
});
