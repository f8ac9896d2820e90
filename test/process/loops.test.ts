import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { Agent, request as requestPlain, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent, request as requestTls } from 'node:https';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { status } from '@grpc/grpc-js';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Connection, framed } from '../grpc/http2-call.js';
import { makeCertificate } from '../support/certificates.js';
import { writeKeys } from '../support/folders.js';
import { ownFolder, POINT, Vectord } from '../support/vectord.js';
import * as wire from '../support/wire.js';

/** One more than there are cores, so that threads take turns. */
const LOOPS = 3;

let folder = '';
let keysPath = '';
let environment: Record<string, string> = {};

beforeEach(() => {
  const own = ownFolder();
  ({ folder, keysPath } = own);
  environment = { ...own.environment, LOOPS: String(LOOPS) };
});

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
  readonly socket: Socket;
}

/** A client of HTTP with one connection, which it keeps. */
class Client {
  readonly #agent: Agent | TlsAgent;

  constructor(private readonly address: string) {
    const options = { keepAlive: true, maxSockets: 1 };
    this.#agent = address.startsWith('https') ? new TlsAgent(options) : new Agent(options);
    onTestFinished(() => this.#agent.destroy());
  }

  async ask(method: string, path: string, body = '', key = 'the-key'): Promise<Answer> {
    const request = this.address.startsWith('https') ? requestTls : requestPlain;
    const asked = request(`${this.address}${path}`, {
      method,
      agent: this.#agent,
      rejectUnauthorized: false,
      headers: {
        'api-key': key,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    });
    asked.end(body);
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    const { socket } = response;
    return { status: response.statusCode, body: await text(response), socket };
  }

  async metric(line: string): Promise<number> {
    const { body } = await this.ask('GET', '/metrics');
    return Number(
      body
        .split('\n')
        .find((one) => one.startsWith(`${line} `))
        ?.slice(line.length),
    );
  }
}

/** A client on each loop: an idle connection counts, and the next goes to another loop. */
async function clientOfEach(vectord: Vectord): Promise<Client[]> {
  const clients = Array.from({ length: LOOPS }, () => new Client(vectord.value('HTTP')));
  for (const client of clients) {
    expect((await client.ask('GET', '/health')).status).toBe(200);
  }
  return clients;
}

/** A request whose body goes no further, on a connection of its own. */
async function uploading(vectord: Vectord, bytes: number): Promise<Socket> {
  const { port, hostname } = new URL(vectord.value('HTTP'));
  const socket = connect(Number(port), hostname).on('error', () => {});
  onTestFinished(() => void socket.destroy());
  socket.write(
    'POST /points HTTP/1.1\r\nHost: x\r\napi-key: the-key\r\nContent-Length: 3500000\r\n\r\n',
  );
  const written = new Promise((resolve) => socket.write(' '.repeat(bytes), resolve));
  await written;
  return socket;
}

const SEARCH = JSON.stringify({ vector: [1, 2, 3, 4], similarity: 'Euclidean', limit: 10 });
const BATCH = JSON.stringify({ vectors: Array.from({ length: 4_000 }, () => POINT) });

test('what one loop has stored the others find, and each tells the metrics of all', async () => {
  const vectord = await Vectord.start(environment);
  const clients = await clientOfEach(vectord);
  const ids = await Promise.all(
    clients.map(async (client) => {
      const { status: code, body } = await client.ask('POST', '/points', JSON.stringify(POINT));
      expect(code).toBe(201);
      return JSON.parse(body).point_id as string;
    }),
  );
  for (const client of clients) {
    const { body } = await client.ask('POST', '/points/search', SEARCH);
    expect(JSON.parse(body).results.toSorted()).toEqual(ids.toSorted());
  }
  const inserts = 'vectord_http_requests_total{method="POST",route="/points",status="201"}';
  for (const client of clients) {
    expect(await client.metric(inserts)).toBe(LOOPS);
    expect(await client.metric('vectord_http_connections')).toBe(LOOPS);
    expect(await client.metric('vectord_loops')).toBe(LOOPS);
  }
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
});

test('gRPC connections go to all loops, and a call on each finds the same', async () => {
  const vectord = await Vectord.start(environment);
  expect(await vectord.insert('the-key')).toBe(201);
  const message = framed(wire.searchRequest([1, 2, 3, 4], 1));
  const connections = Array.from({ length: LOOPS }, () => new Connection(vectord.value('gRPC')));
  onTestFinished(() => connections.forEach((each) => each.close()));
  const calls = connections.map((each) =>
    each.call('SearchPoints', { authorization: 'the-key' }, message),
  );
  expect(await Promise.all(calls)).toEqual(Array(LOOPS).fill(status.OK));
  const searches =
    'vectord_grpc_requests_total{method="vectordb.VectorDB/SearchPoints",status="OK"}';
  expect(await new Client(vectord.value('HTTP')).metric(searches)).toBe(LOOPS);
});

test('changed keys are in force on every loop before the log says so', async () => {
  const vectord = await Vectord.start(environment);
  const clients = await clientOfEach(vectord);
  writeKeys(`${keysPath}.tmp`, { role: 'readwrite', key: 'new-key' });
  renameSync(`${keysPath}.tmp`, keysPath);
  await vectord.until(() => vectord.stderr.includes('keys file read again'));
  const each = async (key: string) =>
    await Promise.all(
      clients.map(
        async (client) => (await client.ask('POST', '/points/search', SEARCH, key)).status,
      ),
    );
  expect(await each('the-key')).toEqual(Array(LOOPS).fill(401));
  expect(await each('new-key')).toEqual(Array(LOOPS).fill(200));
});

test('a changed certificate is that of every loop before the log says so', async () => {
  const [tlsCert, tlsKey] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const write = (name: string): void => {
    const { cert, key } = makeCertificate(name);
    writeFileSync(tlsCert, cert);
    writeFileSync(tlsKey, key, { mode: 0o600 });
  };
  write('first');
  const vectord = await Vectord.start({ ...environment, TLS_CERT: tlsCert, TLS_KEY: tlsKey });
  const names = async (): Promise<unknown[]> => {
    const clients = Array.from({ length: LOOPS }, () => new Client(vectord.value('HTTP')));
    const answers = await Promise.all(clients.map((client) => client.ask('GET', '/health')));
    return answers.map(({ socket }) => (socket as TLSSocket).getPeerCertificate().subject.CN);
  };
  expect(await names()).toEqual(Array(LOOPS).fill('first'));
  write('second');
  await vectord.until(() => vectord.stderr.includes('certificate read again'));
  expect(await names()).toEqual(Array(LOOPS).fill('second'));
});

describe('limits of the service are those of all loops together', () => {
  test('MAX_INFLIGHT_BYTES', async () => {
    const vectord = await Vectord.start({ ...environment, MAX_INFLIGHT_BYTES: '4000000' });
    const clients = await clientOfEach(vectord);
    await uploading(vectord, 3_000_000);
    const [client] = clients as [Client];
    await vi.waitFor(
      async () => expect(await client.metric('vectord_inflight_bytes')).toBe(3_000_000),
      10_000,
    );
    const large = JSON.stringify({
      ...POINT,
      payload: { content_type: 'Text', content: 'x'.repeat(1_040_000) },
    });
    for (const each of clients) {
      const { status: code, body } = await each.ask('POST', '/points', large);
      expect([code, body]).toEqual([503, expect.stringContaining('MAX_INFLIGHT_BYTES')]);
    }
  });

  test('MAX_CONNECTIONS: one more is closed, and counted once', async () => {
    const vectord = await Vectord.start({ ...environment, MAX_CONNECTIONS: '4' });
    // A request with a key is under way on each: none of them gives way.
    for (let count = 0; count < 4; count += 1) await uploading(vectord, 10);
    const refused = await uploading(vectord, 10);
    // It may end with a reset.
    await new Promise((resolve) => refused.resume().once('close', resolve));
    await vectord.until(() => vectord.stderr.includes('"reason":"accept_timeout"'));
    expect(vectord.stderr.split('"reason":"accept_timeout"')).toHaveLength(2);
  });

  test('calls to the health service, which need no key', async () => {
    const vectord = await Vectord.start(environment);
    const connections = Array.from({ length: 9 }, () => new Connection(vectord.value('gRPC')));
    onTestFinished(() => connections.forEach((each) => each.close()));
    const message = framed(wire.searchRequest([1, 2, 3, 4], 1));
    const headers = { authorization: 'the-key' };
    for (const each of connections) await each.call('SearchPoints', headers, message);
    const watching = connections.flatMap((each) =>
      Array.from({ length: 120 }, () => each.open('/grpc.health.v1.Health/Watch')),
    );
    for (const { stream } of watching) stream.end(framed(Buffer.alloc(0)));
    expect(await Promise.race(watching.map((call) => call.status))).toBe(status.RESOURCE_EXHAUSTED);
  });
});

test('large requests of every loop are read, one that is given up is not answered', async () => {
  const vectord = await Vectord.start(environment);
  const clients = await clientOfEach(vectord);
  const given = connect(Number(new URL(vectord.value('HTTP')).port)).on('error', () => {});
  given.write(
    `POST /points/batch HTTP/1.1\r\nHost: x\r\napi-key: the-key\r\nContent-Length: ${BATCH.length}\r\n\r\n`,
  );
  given.write(BATCH, () => given.destroy());
  const answers = await Promise.all(
    clients.map((client) => client.ask('POST', '/points/batch', BATCH)),
  );
  for (const { status: code, body } of answers) {
    expect([code, JSON.parse(body).point_ids.length]).toEqual([201, 4_000]);
  }
  const wrong = BATCH.replace(/^(.{150000}[^]*?)"Text"/, '$1"Txt"');
  for (const client of clients) {
    const { status: code, body } = await client.ask('POST', '/points/batch', wrong);
    expect([code, body]).toEqual([
      400,
      expect.stringMatching(/^vectors\[\d+\]\.payload\.content_type/),
    ]);
  }
});

test('a stop lets the requests of every loop finish', async () => {
  const vectord = await Vectord.start(environment);
  const body = JSON.stringify(POINT);
  const head = `POST /points HTTP/1.1\r\nHost: x\r\napi-key: the-key\r\nContent-Length: ${body.length}\r\n\r\n`;
  const { port, hostname } = new URL(vectord.value('HTTP'));
  const sockets = Array.from({ length: LOOPS }, () => connect(Number(port), hostname));
  for (const socket of sockets) socket.write(head + body.slice(0, -1));
  const watch = new Client(vectord.value('HTTP'));
  await vi.waitFor(
    async () =>
      expect(await watch.metric('vectord_inflight_bytes')).toBe(LOOPS * (body.length - 1)),
    10_000,
  );
  const stopped = vectord.stop();
  await vectord.until(() => vectord.stderr.includes('stopping'));
  const answers = sockets.map(async (socket) => {
    socket.write(body.slice(-1));
    return await text(socket);
  });
  for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 201 /);
  expect(await stopped).toEqual({ code: 0, signal: null });
  expect((await Vectord.start(environment)).value('points')).toBe(String(LOOPS));
});

describe('a loop that cannot go on ends the process, which says so', () => {
  const crashing = (act: string, trigger: string): string => `
    const { isMainThread, workerData } = require('node:worker_threads');
    const crash = () => { if (require('node:fs').existsSync(${JSON.stringify(trigger)})) ${act}; };
    if (!isMainThread && !workerData?.dimension) setInterval(crash, 20);
  `;

  test.each([
    ["throw new Error('a crash on purpose')", 24, 'a crash on purpose'],
    ["Promise.reject(new Error('a crash on purpose'))", 24, 'a crash on purpose'],
    ['process.exit(0)', 0, 'the thread of a loop has ended'],
  ])('%s, while %i clients insert', async (act, clients, message) => {
    const crashPath = join(folder, 'crash.cjs');
    const trigger = join(folder, 'now');
    writeFileSync(crashPath, crashing(act, trigger));
    const vectord = await Vectord.start({ ...environment, NODE_OPTIONS: `--require ${crashPath}` });
    const inserting = Array.from({ length: clients }, () => keepInserting(vectord.value('gRPC')));
    await vi.waitFor(() => expect(inserting.every(({ calls }) => calls > 3)).toBe(true), 10_000);
    writeFileSync(trigger, '');
    expect(await vectord.exit).toEqual({ code: 1, signal: null });
    const line = JSON.parse(vectord.stderr.trim().split('\n').at(-1) ?? '');
    expect(line).toMatchObject({ level: 'fatal', msg: 'defect: the service stops' });
    expect(line.err.message).toContain(message);
  });
});

/** Inserts on one gRPC connection, three at a time, for as long as all are answered. */
function keepInserting(address: string): { readonly calls: number } {
  const connection = new Connection(address);
  onTestFinished(() => connection.close());
  const message = framed(wire.insertRequest([1, 2, 3, 4], 'x'));
  const insert = async (): Promise<number> =>
    await connection.call('InsertVector', { authorization: 'the-key' }, message);
  const done = { calls: 0 };
  void (async () => {
    let answers: number[] = [];
    while (answers.every((code) => code === status.OK)) {
      answers = await Promise.all([insert(), insert(), insert()]);
      done.calls += answers.length;
    }
  })();
  return done;
}

test('without file descriptors connections wait, and are served when there are some again', async () => {
  const wrapper = ['sh', '-c', 'ulimit -n 200; exec "$@"', 'sh'];
  const vectord = await Vectord.start(environment, { wrapper });
  const { port, hostname } = new URL(vectord.value('HTTP'));
  const sockets = Array.from({ length: 300 }, () => connect(Number(port), hostname));
  for (const socket of sockets) socket.on('error', () => {});
  await vectord.until(() => vectord.stderr.includes('connections cannot be accepted'));
  expect(vectord.stderr).toContain('Too many open files');
  for (const socket of sockets) socket.destroy();
  await vi.waitFor(async () => expect(await vectord.insert('the-key')).toBe(201), 20_000);
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
});

test('LOOPS=1 has no thread for a loop', async () => {
  const vectord = await Vectord.start({ ...environment, LOOPS: '1' });
  expect(await vectord.insert('the-key')).toBe(201);
  expect(await new Client(vectord.value('HTTP')).metric('vectord_loops')).toBe(1);
});
