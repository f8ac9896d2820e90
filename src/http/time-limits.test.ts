import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { answerMalformedRequests } from './malformed.js';
import { createTimedServer, limitUnreadAnswer, TIME_LIMITS } from './time-limits.js';

/** The same limits, at a thousandth: seconds become milliseconds. */
const SHORT = Object.fromEntries(
  Object.entries(TIME_LIMITS).map(([name, ms]) => [name, ms / 1_000]),
) as unknown as typeof TIME_LIMITS;

/** Connects to a server of its own, and sends these bytes. */
async function send(text: string, answer: RequestListener): Promise<Connected> {
  const server = createTimedServer(SHORT);
  let answering: ServerResponse | undefined;
  answerMalformedRequests(server, {
    answering: () => answering,
    close: (socket) => socket.destroy(),
    onAnswer: () => {},
  });
  server.on('request', (_, response) => (answering = response));
  server.on('request', (_, response) => limitUnreadAnswer(response, (socket) => socket.destroy()));
  server.on('request', answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const client = connect(port, '127.0.0.1').setEncoding('latin1');
  client.on('error', () => {});
  const [ofServer] = (await once(server, 'connection')) as [Socket];
  const closed = new Promise<true>((resolve) => ofServer.once('close', () => resolve(true)));
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  client.write(text);
  return { client, closed };
}

interface Connected {
  readonly client: Socket;
  /** Resolves once the server has closed the connection. */
  readonly closed: Promise<true>;
}

async function received({ client }: Connected): Promise<string> {
  let answer = '';
  for await (const chunk of client) answer += chunk;
  return answer;
}

const LATE = /^HTTP\/1\.1 408 [^]*\r\n\r\nThe request took too long to arrive$/;

test('they are what the documents say', () => {
  expect(TIME_LIMITS).toMatchObject({
    headersTimeout: 30_000,
    requestTimeout: 300_000,
    keepAliveTimeout: 65_000,
    timeout: 300_000,
  });
});

test('headers that do not end are refused', async () => {
  const connected = await send('GET /health HTTP/1.1\r\nHo', () => {});
  expect(await received(connected)).toMatch(LATE);
  expect(await connected.closed).toBe(true);
});

test('a body that goes on and on is refused', async () => {
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n';
  const connected = await send(head, (request) => request.resume());
  const trickle = setInterval(() => connected.client.write('x'), 10);
  onTestFinished(() => clearInterval(trickle));
  expect(await received(connected)).toMatch(LATE);
  expect(await connected.closed).toBe(true);
});

test('a connection whose client does not read its answer is closed', async () => {
  const connected = await send('GET / HTTP/1.1\r\nHost: x\r\n\r\n', (_, response) => {
    response.end(Buffer.alloc(64 * 1024 * 1024));
  });
  connected.client.pause();
  expect(await connected.closed).toBe(true);
});

test('an answer that is computed for longer than that is sent nevertheless', async () => {
  const connected = await send('GET / HTTP/1.1\r\nHost: x\r\n\r\n', (_, response) => {
    setTimeout(() => response.end('OK'), 3 * SHORT.timeout);
  });
  expect(await received(connected)).toMatch(/^HTTP\/1\.1 200 [^]*OK/);
});

test('a connection that is kept open for a next request is closed when none comes', async () => {
  const connected = await send('GET / HTTP/1.1\r\nHost: x\r\n\r\n', (_, response) => {
    response.end('OK');
  });
  expect(await received(connected)).toMatch(/^HTTP\/1\.1 200 [^]*Connection: keep-alive[^]*OK/);
  expect(await connected.closed).toBe(true);
});
