import { once } from 'node:events';
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { beforeEach, expect, test, vi } from 'vitest';
import { SHUTDOWN_GRACE_MS } from '../../src/shutdown.js';
import { Connection, framed } from '../grpc/http2-call.js';
import { ownFolder, POINT, Vectord } from '../support/vectord.js';
import * as wire from '../support/wire.js';

let folder = '';
let environment: Record<string, string> = {};
let vectord: Vectord;

beforeEach(async () => {
  ({ folder, environment } = ownFolder());
  vectord = await Vectord.start(environment);
});

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends the process with 0', async (signal) => {
  expect(await vectord.insert('the-key')).toBe(201);
  expect(await vectord.stop(signal)).toEqual({ code: 0, signal: null });
  expect((await Vectord.start(environment)).value('points')).toBe('1');
});

test('an idle connection does not hold up the end', async () => {
  const agent = new Agent({ keepAlive: true });
  const health = request(`${vectord.value('HTTP')}/health`, { agent }).end();
  const [response] = (await once(health, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  const startedAtMs = performance.now();
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
  expect(performance.now() - startedAtMs).toBeLessThan(3000);
  agent.destroy();
});

test('a connection on which nothing has come does not hold up the end', async () => {
  const { hostname, port } = new URL(vectord.value('HTTP'));
  const silent = connect(Number(port), hostname).on('error', () => {});
  await once(silent, 'connect');
  const startedAtMs = performance.now();
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
  expect(performance.now() - startedAtMs).toBeLessThan(5000);
  silent.destroy();
});

test('a request that is under way is answered before the end, and kept', async () => {
  const insert = await beginInsert();
  vectord.process.kill('SIGTERM');
  await sleep(300);
  await expect(fetch(`${vectord.value('HTTP')}/health`)).rejects.toThrow('fetch failed');
  insert.finish();
  const [response] = (await once(insert.request, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(201);
  response.resume();
  expect(await vectord.exit).toEqual({ code: 0, signal: null });
  expect((await Vectord.start(environment)).value('points')).toBe('1');
});

test('a large request that arrives late in the time of grace is not read any more', async () => {
  const { hostname, port } = new URL(vectord.value('HTTP'));
  // Large enough for the thread that reads large requests.
  const body = JSON.stringify(POINT).padEnd(200_000);
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  socket.write(
    `POST /points HTTP/1.1\r\nHost: x\r\napi-key: the-key\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  socket.write(body.slice(0, -1));
  const calls = new Connection(vectord.value('gRPC'));
  const item = wire.delimited(1, wire.insertRequest([1, 2, 3, 4], ' '.repeat(200_000)));
  const { stream, status: answered } = calls.open('InsertVectorsBatch', {
    authorization: 'the-key',
  });
  stream.write(framed(item).subarray(0, -1));
  await calls.settled();
  vectord.process.kill('SIGTERM');
  await sleep(SHUTDOWN_GRACE_MS / 2 + 1_000);
  socket.write(body.slice(-1));
  stream.end(item.subarray(-1));
  let answer = '';
  for await (const piece of socket) answer += piece;
  expect(answer).toMatch(/^HTTP\/1\.1 503 [^]*Retry-After: 1\r\n[^]*The service is stopping$/);
  expect(await answered).toBe(status.UNAVAILABLE);
  expect(await vectord.exit).toEqual({ code: 0, signal: null });
  calls.close();
});

test('a connection that is never idle gets one answer more, and is closed', async () => {
  const { hostname, port } = new URL(vectord.value('HTTP'));
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  const closed = once(socket, 'close');
  let received = '';
  const ask = (): boolean => socket.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
  socket
    .on('error', () => {})
    .on('data', (text: string) => {
      received += text;
      if (text.endsWith('OK') && !text.includes('Connection: close')) ask();
    });
  const held = await beginInsert();
  ask();
  await vi.waitFor(() => expect(received.split('HTTP/1.1 200 OK').length).toBeGreaterThan(10));
  expect(received).not.toContain('Connection: close');
  vectord.process.kill('SIGTERM');
  await closed;
  expect(received.split('Connection: close')).toHaveLength(2);
  expect(received.trimEnd().endsWith('OK')).toBe(true);
  held.finish();
  expect(await vectord.exit).toEqual({ code: 0, signal: null });
});

test.each([
  ['SIGTERM', 128 + 15],
  ['SIGINT', 128 + 2],
] as const)('a second signal, %s, ends the process at once, with %i', async (second, code) => {
  expect(await vectord.insert('the-key')).toBe(201);
  const insert = await beginInsert();
  insert.request.on('error', () => {});
  vectord.process.kill('SIGTERM');
  await vectord.until(() => vectord.stderr.includes('"stopping"'));
  expect(await vectord.stop(second)).toEqual({ code, signal: null });
  expect((await Vectord.start(environment)).value('points')).toBe('1');
});

test('under npm, a signal that arrives twice at once is one', async () => {
  const other = { ...environment, DATA_PATH: join(folder, 'other'), npm_lifecycle_event: 'start' };
  const underNpm = await Vectord.start(other);
  underNpm.process.kill('SIGINT');
  expect(await underNpm.stop('SIGTERM')).toEqual({ code: 0, signal: null });
});

test('whatever is open at the time, the end comes with 0, and what was answered stays', async () => {
  const http = new URL(vectord.value('HTTP'));
  const grpc = new URL(`http://${vectord.value('gRPC')}`);
  const connections: readonly (readonly [URL, string])[] = [
    [http, ''],
    [http, 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n'],
    [http, 'GET /health HTTP/1.1\r\nHo'],
    [
      http,
      'POST /points HTTP/1.1\r\nHost: x\r\napi-key: the-key\r\nContent-Length: 99\r\n\r\n{"vec',
    ],
    [grpc, ''],
    [grpc, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ];
  const sockets = connections.map(([{ hostname, port }, text]) => {
    const socket = connect(Number(port), hostname)
      .on('error', () => {})
      .resume();
    socket.write(text);
    return socket;
  });
  const calls = new Connection(grpc.host);
  const headers = { authorization: 'the-key' };
  calls.open('/grpc.health.v1.Health/Watch').stream.end(framed(new Uint8Array()));
  calls.open('/grpc.reflection.v1.ServerReflection/ServerReflectionInfo');
  calls.open('InsertVector', headers).stream.write(Buffer.of(0, 0, 0, 0, 99, 1));
  calls.open('InsertVector', headers).stream.write(framed(wire.insertRequest([1, 2, 3, 4], 'x')));
  await calls.settled();

  let answered = 0;
  const inserters = Array.from({ length: 8 }, async () => {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const answer = await vectord.insert('the-key').catch(() => 0);
      if (answer !== 201) return;
      answered += 1;
    }
  });
  await vi.waitFor(() => expect(answered).toBeGreaterThan(20), { timeout: 20_000 });
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
  await Promise.all(inserters);
  expect(vectord.stderr).not.toMatch(/"level":"(error|fatal)"/);
  for (const socket of sockets) socket.destroy();
  calls.close();
  const points = Number((await Vectord.start(environment)).value('points'));
  // One that was not answered may be there as well.
  expect(points).toBeGreaterThanOrEqual(answered);
  expect(points).toBeLessThanOrEqual(answered + inserters.length + 1);
});

/** Sends an insert up to the middle of its body. */
async function beginInsert(): Promise<{ request: ClientRequest; finish: () => void }> {
  const body = JSON.stringify(POINT);
  const insert = request(`${vectord.value('HTTP')}/points`, {
    method: 'POST',
    headers: { 'api-key': 'the-key', 'content-type': 'application/json' },
  });
  insert.write(body.slice(0, 10));
  // The server has the head of the request once it has had some time for it.
  await sleep(200);
  return { request: insert, finish: () => insert.end(body.slice(10)) };
}
