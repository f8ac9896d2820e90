import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import Koa from 'koa';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.js';
import { VectordError } from '../core/errors.js';
import { Requests } from '../observe/requests.js';
import { answerAndNote } from './answer-and-note.js';
import type { RequestState } from './context.js';
import { DRAIN_MS } from './reply.js';

/** A server that answers each request with a failure. */
async function serverThatFails(error: unknown, clock = new ManualClock()) {
  let log = '';
  const logger = pino({ level: 'debug' }, { write: (line) => (log += line) });
  const app = new Koa<RequestState>();
  const options = { logger, slowRequestMs: 0, nameOf: (status: number) => status };
  app.use(answerAndNote(new Requests({ ...options, protocol: 'http' }), clock));
  app.use(() => {
    throw error;
  });
  const server = createServer(app.callback());
  // Node itself closes nothing.
  server.keepAliveTimeout = 0;
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, log: () => log };
}

/** What a client and the log see of a request that fails with `error`. */
async function requestThatFails(error: unknown): Promise<{ response: Response; log: string }> {
  const { port, log } = await serverThatFails(error);
  const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { 'api-key': 's3cret' } });
  return { response, log: log() };
}

it.each([
  new TypeError('a bug at /srv/data'),
  new VectordError('INTERNAL', 'bad record in /srv/data'),
  'no error at all: /srv/data',
])('a fault of the service is 500 without internals, which the log has: %s', async (error) => {
  const { response, log } = await requestThatFails(error);
  const requestId = response.headers.get('x-request-id');
  expect(response.status).toBe(500);
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(await response.text()).toBe(`Internal server error (request ${requestId})`);
  expect(log).toContain(requestId);
  expect(log).toContain('/srv/data');
  expect(log).not.toContain('s3cret');
  expect(JSON.parse(log)).toMatchObject({ level: 50, method: 'GET', status: 500, requestId });
});

it('an answer that asks for patience says for how long', async () => {
  for (const code of ['OVERLOADED', 'UNAVAILABLE'] as const) {
    const { response } = await requestThatFails(new VectordError(code, 'later'));
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await response.text()).toBe('later');
  }
});

it.each([
  ['a full disk', 507, 'STORAGE_FULL'],
  ['a write that may be stored or not', 504, 'OUTCOME_UNKNOWN'],
  ['a body that stops arriving', 408, 'TIMEOUT'],
] as const)('%s is %d, in plain text', async (_, status, code) => {
  const { response } = await requestThatFails(new VectordError(code, 'the reason'));
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(await response.text()).toBe('the reason');
});

it('a fault of the client is one debug line', async () => {
  const { response, log } = await requestThatFails(
    new VectordError('NOT_FOUND', 'Point not found'),
  );
  expect(await response.text()).toBe('Point not found');
  expect(JSON.parse(log)).toMatchObject({ level: 20, status: 404 });
});

it('cuts a client that goes on sending a refused body, once it could read why', async () => {
  const clock = new ManualClock();
  const { port } = await serverThatFails(new VectordError('UNAUTHENTICATED', 'no key'), clock);
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  // What it sends then is answered by a reset.
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nx');
  const [answer] = await once(socket, 'data');
  expect(answer).toMatch(/^HTTP\/1\.1 401 [^]*no key$/);
  await clock.advance(DRAIN_MS - 1);
  // It is still read: who is cut meanwhile might lose the answer.
  await new Promise((resolve) => socket.write('x', resolve));
  expect(socket.closed).toBe(false);
  await clock.advance(1);
  await closed;
});
