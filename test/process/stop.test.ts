import { once } from 'node:events';
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { ownFolder, POINT, Vectord } from '../support/vectord.js';

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
  await vi.waitFor(async () => {
    await expect(fetch(`${vectord.value('HTTP')}/health`)).rejects.toThrow('fetch failed');
  }, 10_000);
  insert.finish();
  const [response] = (await once(insert.request, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(201);
  response.resume();
  expect(await vectord.exit).toEqual({ code: 0, signal: null });
  expect((await Vectord.start(environment)).value('points')).toBe('1');
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

/** Sends an insert up to the middle of its body. */
async function beginInsert(): Promise<{ request: ClientRequest; finish: () => void }> {
  const body = JSON.stringify(POINT);
  const insert = request(`${vectord.value('HTTP')}/points`, {
    method: 'POST',
    headers: {
      'api-key': 'the-key',
      'content-type': 'application/json',
      expect: '100-continue',
    },
  });
  insert.flushHeaders();
  await once(insert, 'continue');
  insert.write(body.slice(0, 10));
  return { request: insert, finish: () => insert.end(body.slice(10)) };
}
