import { existsSync } from 'node:fs';
import { status } from '@grpc/grpc-js';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { RawClient } from '../grpc/client.js';
import { Connection, framed } from '../grpc/http2-call.js';
import { Client, sendRaw, text } from '../http/client.js';
import { Collector, type Span } from '../support/collector.js';
import { startServer, type TestServer } from '../support/server.js';
import { ownFolder, Vectord } from '../support/vectord.js';
import * as wire from '../support/wire.js';

const SERVER = 2;
const INTERNAL = 1;
const ERROR = 2;

const KEYS = { readwrite: 'secret-readwrite-key', readonly: 'secret-readonly-key' };
const VECTOR = [7.0625, 7.125, 7.1875, 7.25];
const CONTENT = 'a-content-that-nobody-else-may-see';
const FILTER = { 'a-field-of-a-filter': 'a-value-of-a-filter' };
const SECRETS = /secret-|nobody-else|of-a-filter|made-up/;
/** The vector as floats and as doubles, as text of latin1. */
const VECTOR_BYTES = [Float32Array.from(VECTOR), Float64Array.from(VECTOR)].map((values) =>
  Buffer.from(values.buffer).toString('latin1'),
);

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

interface Traced {
  readonly collector: Collector;
  readonly server: TestServer;
  readonly client: Client;
  readonly caller: RawClient;
}

/** A service that exports its spans at once, and its clients. */
async function startTraced(env: Record<string, string> = {}): Promise<Traced> {
  const collector = await Collector.start();
  const server = await startServer({
    keys: KEYS,
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_BSP_SCHEDULE_DELAY: '50',
      ...env,
    },
  });
  const caller = new RawClient(server.grpc, KEYS.readwrite);
  onTestFinished(() => caller.close());
  return { collector, server, client: new Client(server, KEYS.readwrite), caller };
}

function parent(flags = '01'): Record<string, string> {
  return { traceparent: `00-${TRACE}-${PARENT}-${flags}`, tracestate: 'vendor=value' };
}

function names(spans: readonly Span[]): string[] {
  return spans.map(({ name }) => name);
}

describe('a span for each request, by the conventions', () => {
  test('over HTTP, as a child of the span that the client names', async () => {
    const { collector, client } = await startTraced();
    const point = { vector: VECTOR, payload: text(CONTENT) };
    await client.send('POST', '/points', point, parent());
    const span = await collector.span(({ name }) => name === 'POST /points');
    expect(span).toMatchObject({
      traceId: TRACE,
      parentSpanId: PARENT,
      traceState: 'vendor=value',
      kind: SERVER,
      status: 0,
    });
    expect(span.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/points',
      'http.response.status_code': 201,
      'url.path': '/points',
      'url.scheme': 'http',
      'vectord.bytes': JSON.stringify(point).length,
      'vectord.items': 1,
    });
    const children = collector.childrenOf(span);
    expect(names(children)).toEqual(['decode', 'commit']);
    for (const child of children) {
      expect(child).toMatchObject({ traceId: TRACE, kind: INTERNAL, status: 0 });
      expect(child.startNs).toBeGreaterThanOrEqual(span.startNs);
      expect(child.endNs).toBeLessThanOrEqual(span.endNs);
    }
  });

  test('over gRPC, as a child of the span that the metadata name', async () => {
    const { collector, caller } = await startTraced();
    const message = wire.insertRequest(VECTOR, CONTENT);
    expect((await caller.call('InsertVector', message, parent())).code).toBe(status.OK);
    const method = 'vectordb.VectorDB/InsertVector';
    const span = await collector.span(({ name }) => name === method);
    expect(span).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, kind: SERVER, status: 0 });
    expect(span.attributes).toEqual({
      'rpc.system.name': 'grpc',
      'rpc.method': method,
      'rpc.response.status_code': 'OK',
      'vectord.bytes': message.length + 5,
      'vectord.items': 1,
    });
    expect(names(collector.childrenOf(span))).toEqual(['decode', 'commit']);
  });

  test('a search tells what made it heavy, and a request without a parent begins a trace', async () => {
    const { collector, client, caller } = await startTraced();
    await client.insert(VECTOR);
    const query = { vector: VECTOR, similarity: 'Manhattan', limit: 3, ef: 7 };
    await client.post('/points/search', query);
    await client.post('/v1/points/search', { queries: [query, query] });
    await caller.call('SearchPoints', wire.searchRequest(VECTOR, 4));
    const one = await collector.span(({ name }) => name === 'POST /points/search');
    const own = await collector.span(({ name }) => name === 'POST /v1/points/search');
    const call = await collector.span(({ name }) => name === 'vectordb.VectorDB/SearchPoints');
    for (const span of [one, own, call]) {
      expect(span.parentSpanId).toBe('');
      expect(names(collector.childrenOf(span))).toEqual(['decode', 'search']);
    }
    expect(one.attributes).toMatchObject({ 'vectord.similarity': 'Manhattan', 'vectord.ef': 7 });
    expect(own.attributes).toMatchObject({
      'vectord.queries': 2,
      'vectord.similarity': ['Manhattan'],
      'vectord.limit': 3,
    });
    expect(call.attributes).toMatchObject({ 'vectord.queries': 1, 'vectord.limit': 4 });
    expect(new Set([one, own, call].map(({ traceId }) => traceId)).size).toBe(3);
  });

  test('gets, scrolls and counts read', async () => {
    const { collector, client } = await startTraced();
    const id = await client.insert(VECTOR);
    await client.get(`/points/${id}?x=made-up`);
    await client.post('/v1/points/get', { ids: [id] });
    await client.post('/v1/points/scroll', { limit: 1 });
    await client.post('/v1/points/count', { filter: FILTER });
    const get = await collector.span(({ name }) => name === 'GET /points/:id');
    expect(get.attributes).toMatchObject({ 'url.path': `/points/${id}` });
    expect(names(collector.childrenOf(get))).toEqual(['read']);
    for (const operation of ['get', 'scroll', 'count']) {
      const name = `POST /v1/points/${operation}`;
      const span = await collector.span((found) => found.name === name);
      expect(names(collector.childrenOf(span))).toEqual(['decode', 'read']);
    }
    expect(collector.bodies).not.toMatch(SECRETS);
  });
});

// Node.js takes them all for requests; a URL is none of the first three.
test.each([
  'http://a:99999/v1/points/upsert',
  'http://[/v1/points/upsert?x=made-up',
  'ws://%%:x@/v1/points/upsert',
  'http://a/v1/points/upsert?//',
])(
  'the target %s is traced as its path, with the answer that it gets without traces',
  async (target) => {
    const { collector, server, client } = await startTraced();
    const request = (body: unknown, to: string): string => {
      const json = JSON.stringify(body);
      return (
        `POST ${to} HTTP/1.1\r\nhost: a\r\nconnection: close\r\napi-key: ${KEYS.readwrite}\r\n` +
        `content-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`
      );
    };
    // Large enough that its answer is a stream, whose end is noted when no handler of errors is near.
    const points = Array.from({ length: 1_000 }, () => ({
      vector: VECTOR,
      content: 'x'.repeat(999),
    }));
    expect(await sendRaw(server, request({ points }, target))).toMatch(/^HTTP\/1.1 200 /);
    const query = { vector: VECTOR, similarity: 'Cosine', limit: 1_000, include: ['content'] };
    const search = target.replace('upsert', 'search');
    expect(await sendRaw(server, request(query, search))).toMatch(/^HTTP\/1.1 200 /);
    const span = await collector.span(({ name }) => name === 'POST /v1/points/search');
    expect(span.attributes).toMatchObject({ 'url.path': '/v1/points/search' });
    expect((await client.post('/v1/points/count', {})).json).toEqual({ count: 1_000 });
  },
);

describe('failures', () => {
  test('what a client did wrong is no error of the service', async () => {
    const { collector, server, client, caller } = await startTraced();
    await client.post('/points', { vector: [1], payload: text(CONTENT) });
    await new Client(server, 'secret-wrong-key').get('/points/made-up');
    await caller.call('InsertVector', wire.insertRequest([1], CONTENT));
    const http = await collector.span(({ name }) => name === 'POST /points');
    const grpc = await collector.span(({ name }) => name === 'vectordb.VectorDB/InsertVector');
    const unknown = await collector.span(({ name }) => name === 'GET');
    expect([http.status, grpc.status, unknown.status]).toEqual([0, 0, 0]);
    expect(http.attributes).toMatchObject({ 'http.response.status_code': 400 });
    expect(grpc.attributes).toMatchObject({ 'rpc.response.status_code': 'INVALID_ARGUMENT' });
    expect(unknown.attributes).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 401,
      'url.scheme': 'http',
      'vectord.bytes': 0,
    });
    for (const span of [http, grpc]) {
      const [decode, ...others] = collector.childrenOf(span);
      expect(decode).toMatchObject({ name: 'decode', status: ERROR, statusMessage: '' });
      expect(decode?.attributes).toEqual({ 'error.type': 'INVALID_ARGUMENT' });
      expect(others).toEqual([]);
    }
    expect(collector.bodies).not.toMatch(SECRETS);
  });

  test('what the service could not do is one', async () => {
    const { collector, client, caller } = await startTraced({ MAX_INFLIGHT_BYTES: '100' });
    await client.post('/points/search', 'x'.repeat(101));
    await caller.call('/made-up.Service/Method', Buffer.alloc(0));
    const http = await collector.span(({ name }) => name === 'POST /points/search');
    expect(http).toMatchObject({
      status: ERROR,
      attributes: { 'http.response.status_code': 503, 'error.type': '503' },
    });
    const unknown = await collector.span(({ name }) => name === 'grpc');
    expect(unknown).toMatchObject({
      status: ERROR,
      attributes: { 'rpc.method': '_OTHER', 'error.type': 'UNIMPLEMENTED' },
    });
    expect(collector.bodies).not.toMatch(SECRETS);
  });
});

test('no key, vector, content or filter leaves the service', async () => {
  const { collector, client, caller } = await startTraced();
  const metadata = { 'a-field-of-a-filter': CONTENT };
  const point = { id: crypto.randomUUID(), vector: VECTOR, content: CONTENT, metadata };
  await client.post('/v1/points/upsert', { points: [point] });
  const query = { vector: VECTOR, similarity: 'Cosine', limit: 1, filter: FILTER };
  await client.post('/v1/points/search', query);
  await client.post('/v1/points/search', { ...query, filter: { 'of-a-filter': { $no: 1 } } });
  await client.post('/v1/points/delete', { filter: FILTER });
  await caller.call('SearchPoints', wire.searchRequest(VECTOR, 1));
  // One for each request: there may be several loops, and each exports its own.
  const isRequest = ({ kind }: Span): boolean => kind === SERVER;
  await vi.waitFor(() => expect(collector.spans.filter(isRequest)).toHaveLength(5), 20_000);
  expect(collector.bodies).not.toMatch(SECRETS);
  for (const bytes of VECTOR_BYTES) expect(collector.bodies).not.toContain(bytes.slice(0, 8));
});

test('every loop exports, and so does the thread that reads large requests', async () => {
  const loops = 3;
  const { collector, server } = await startTraced({ LOOPS: String(loops) });
  // Longer than what is read at once.
  const message = wire.insertRequest(VECTOR, 'x'.repeat(200_000));
  // An idle connection counts: the next goes to another loop.
  const callers = Array.from({ length: loops }, () => new RawClient(server.grpc, KEYS.readwrite));
  onTestFinished(() => callers.forEach((caller) => caller.close()));
  for (const caller of callers) await caller.call('InsertVector', message);
  const isInsert = ({ name }: Span): boolean => name === 'vectordb.VectorDB/InsertVector';
  await vi.waitFor(() => expect(collector.spans.filter(isInsert)).toHaveLength(loops), 20_000);
  for (const span of collector.spans.filter(isInsert)) {
    expect(names(collector.childrenOf(span))).toEqual(['decode', 'commit']);
  }
});

test('a stream has spans for its first hundred parts', async () => {
  const { collector, server } = await startTraced();
  const connection = new Connection(server.grpc);
  onTestFinished(() => connection.close());
  const method = 'vectord.v1.PointsService/UpsertStream';
  const messages = Buffer.concat(Array.from({ length: 120 }, () => framed(Buffer.alloc(0))));
  const headers = { authorization: KEYS.readwrite };
  expect(await connection.call(`/${method}`, headers, messages)).toBe(status.OK);
  const span = await collector.span(({ name }) => name === method);
  expect(names(collector.childrenOf(span))).toEqual(Array(100).fill('decode'));
});

describe('sampling', () => {
  test('a parent that is not sampled keeps its children from it, and no others', async () => {
    const { collector, client, server } = await startTraced({ LOOPS: '1' });
    await client.send('GET', '/health', undefined, parent('00'));
    await client.send('POST', '/points', { vector: VECTOR, payload: text('') }, parent('00'));
    await client.send('GET', '/ready', undefined, parent('01'));
    await collector.span(({ name }) => name === 'GET /ready');
    expect(await server.stop()).toBe(0);
    expect(names(collector.spans)).toEqual(['GET /ready']);
  });

  test('what is not sampled is no part of the request before it on its connection', async () => {
    const { collector, server } = await startTraced({ LOOPS: '1' });
    const head = (line: string, flags: string): string =>
      `${line} HTTP/1.1\r\nHost: x\r\ntraceparent: 00-${TRACE}-${PARENT}-${flags}\r\n`;
    const body = JSON.stringify({ vector: VECTOR, similarity: 'Cosine', limit: 1 });
    const search =
      `${head('POST /points/search', '00')}api-key: ${KEYS.readonly}\r\nConnection: close\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`;
    // Both come at once, and are answered one after the other.
    const answers = await sendRaw(server, `${head('GET /ready', '01')}\r\n${search}`);
    expect(answers.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
    expect(await server.stop()).toBe(0);
    expect(names(collector.spans)).toEqual(['GET /ready']);
  });

  test('OTEL_TRACES_SAMPLER decides where no parent does', async () => {
    const { collector, client, server } = await startTraced({
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0',
    });
    await client.get('/health');
    await client.send('GET', '/ready', undefined, parent());
    expect(await server.stop()).toBe(0);
    expect(names(collector.spans)).toEqual(['GET /ready']);
  });

  test('headers that are no traceparent are ignored', async () => {
    const { collector, client } = await startTraced();
    for (const traceparent of ['made-up', `00-${TRACE}-${PARENT}`, `ff-${TRACE}-${PARENT}-01`]) {
      await client.send('GET', '/health', undefined, { traceparent });
    }
    await vi.waitFor(() => expect(collector.spans).toHaveLength(3), 20_000);
    for (const { traceId, parentSpanId } of collector.spans) {
      expect([traceId === TRACE, parentSpanId]).toEqual([false, '']);
    }
  });
});

test('the resource has the service, its version and what the environment adds', async () => {
  const { collector, client } = await startTraced({
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.namespace=shop',
  });
  await client.get('/health');
  const { resource } = await collector.span(() => true);
  const { version } = (await import('../../package.json', { with: { type: 'json' } })).default;
  expect(resource).toMatchObject({
    'service.name': 'vectord',
    'service.version': version,
    'service.namespace': 'shop',
    'deployment.environment.name': 'test',
  });
  const named = await startTraced({ OTEL_SERVICE_NAME: 'points' });
  await named.client.get('/health');
  const span = await named.collector.span(() => true);
  expect(span.resource).toMatchObject({ 'service.name': 'points' });
});

test('a line of the log names the trace of its request', async () => {
  const { collector, client, server } = await startTraced({ LOG_LEVEL: 'debug' });
  await client.send('GET', '/health', undefined, parent());
  await client.send('GET', '/ready', undefined, parent('00'));
  await collector.span(({ name }) => name === 'GET /health');
  const lines = server.log().split('\n');
  const line = (route: string) => lines.find((found) => found.includes(`"route":"${route}"`));
  expect(JSON.parse(line('/health') ?? '')).toMatchObject({ traceId: TRACE });
  expect(JSON.parse(line('/ready') ?? '')).not.toHaveProperty('traceId');
});

describe('the service does not depend on its collector', () => {
  test('a stop hands on what has not been exported yet', async () => {
    const { collector, client, server } = await startTraced({ OTEL_BSP_SCHEDULE_DELAY: '600000' });
    await client.get('/health');
    expect(collector.spans).toEqual([]);
    expect(await server.stop()).toBe(0);
    expect(names(collector.spans)).toEqual(['GET /health']);
  });

  test('without one, requests are answered, the log says so once, and a stop ends', async () => {
    const { client, server } = await startTraced({
      // Nobody listens there.
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_TIMEOUT: '100',
      LOOPS: '1',
    });
    const told = (): string[] =>
      server
        .log()
        .split('\n')
        .filter((line) => line.includes('spans are lost'));
    await client.get('/health');
    await vi.waitFor(() => expect(told()).toHaveLength(1), 20_000);
    for (let round = 0; round < 5; round += 1) {
      expect((await client.get('/health')).status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(await server.stop()).toBe(0);
    expect(told()).toHaveLength(1);
    expect(JSON.parse(told()[0] ?? '')).toMatchObject({ level: 'warn', faults: 1 });
  });

  test('one that never answers holds up neither requests nor a stop', async () => {
    const collector = await Collector.start({ answers: false });
    const vectord = await Vectord.start({
      ...ownFolder().environment,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.endpoint}/v1/traces`,
      OTEL_BSP_SCHEDULE_DELAY: '10',
      // What waits for it would wait for an hour.
      OTEL_EXPORTER_OTLP_TIMEOUT: '3600000',
      OTEL_BSP_EXPORT_TIMEOUT: '3600000',
      OTEL_BSP_MAX_QUEUE_SIZE: '20',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
    });
    for (let round = 0; round < 50; round += 1) expect(await vectord.insert('the-key')).toBe(201);
    expect(await vectord.stop()).toEqual({ code: 0, signal: null });
  });
});

describe('settings', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' }, 'OTEL_EXPORTER_OTLP_ENDPOINT'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: '' }, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'],
    [{ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'OTEL_EXPORTER_OTLP_PROTOCOL'],
    [{ ...endpoint, OTEL_TRACES_EXPORTER: 'zipkin' }, 'OTEL_TRACES_EXPORTER'],
    [{ ...endpoint, OTEL_PROPAGATORS: 'b3' }, 'OTEL_PROPAGATORS'],
    [{ ...endpoint, OTEL_TRACES_SAMPLER: 'sometimes' }, 'OTEL_TRACES_SAMPLER'],
    [
      { ...endpoint, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
      'OTEL_TRACES_SAMPLER_ARG',
    ],
    [{ ...endpoint, OTEL_SDK_DISABLED: 'yes' }, 'OTEL_SDK_DISABLED is "yes", expected true or'],
    [{ ...endpoint, OTEL_BSP_SCHEDULE_DELAY: '-5' }, 'OTEL_BSP_SCHEDULE_DELAY is "-5", expected'],
    [{ ...endpoint, OTEL_EXPORTER_OTLP_TIMEOUT: 'soon' }, 'OTEL_EXPORTER_OTLP_TIMEOUT is "soon"'],
    [{ ...endpoint, OTEL_RESOURCE_ATTRIBUTES: 'a=b,foo' }, 'no attribute in place 2 of 2'],
    [
      { ...endpoint, OTEL_EXPORTER_OTLP_CERTIFICATE: '/nope' },
      "OTEL_EXPORTER_OTLP_CERTIFICATE names a file that cannot be read: ENOENT: no such file or directory, open '/nope'",
    ],
    [{ ...endpoint, OTEL_ATTRIBUTE_COUNT_LIMIT: 'x' }, 'OTEL_ATTRIBUTE_COUNT_LIMIT'],
  ])('%j cannot be followed: the start is refused, and nothing is made', async (env, name) => {
    const { environment, dataPath } = ownFolder();
    const vectord = new Vectord({ ...environment, ...(env as Record<string, string>) });
    expect(await vectord.exit).toEqual({ code: 2, signal: null });
    expect(vectord.stderr).toContain(name);
    expect(vectord.stderr).not.toMatch(/default|falling back/);
    const lines = vectord.stderr.trim().split('\n');
    expect(new Set(lines).size).toBe(lines.length);
    expect(vectord.stdout).toBe('');
    expect(existsSync(dataPath)).toBe(false);
  });

  test.each([
    ['OTEL_EXPORTER_OTLP_HEADERS', 'x-tenant=shop,secret-without-a-name', 2],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization=Basic%20secret-100%', 1],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'authorization=secret-first;secret-second', 1],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'x-tenant=', 1],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'secret name=shop', 1],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'x-a=1, x-tenant=secret%0D%0Ax-b: 1', 2],
  ])('%s of %j is refused, and not shown', async (setting, value, place) => {
    const vectord = new Vectord({ ...ownFolder().environment, ...endpoint, [setting]: value });
    expect(await vectord.exit).toEqual({ code: 2, signal: null });
    expect(vectord.stderr).toContain(`${setting} has no header in place ${place} of`);
    expect(vectord.stderr).toContain('expected NAME=VALUE');
    expect(vectord.stderr).not.toMatch(/secret|shop/);
  });

  test.each(['content-length', 'Content-Type', 'user-agent'])(
    'a header %s, which the exporter sets itself, is refused',
    async (name) => {
      const headers = { OTEL_EXPORTER_OTLP_HEADERS: `x-a=1,${name}=secret` };
      const vectord = new Vectord({ ...ownFolder().environment, ...endpoint, ...headers });
      expect(await vectord.exit).toEqual({ code: 2, signal: null });
      expect(vectord.stderr).toContain('OTEL_EXPORTER_OTLP_HEADERS has a header in place 2 of 2');
      expect(vectord.stderr).not.toContain('secret');
    },
  );

  test('headers go to the collector, decoded', async () => {
    const { collector, client } = await startTraced({
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20eDp5==, x-tenant=other,',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-tenant=a%2Cb',
    });
    await client.get('/health');
    await collector.span(() => true);
    expect(collector.headers).toMatchObject({ authorization: 'Basic eDp5==', 'x-tenant': 'a,b' });
  });

  test.each([{ OTEL_SDK_DISABLED: 'true' }, { OTEL_TRACES_EXPORTER: 'none' }])(
    '%j turns traces off',
    async (env) => {
      const { collector, client, server } = await startTraced(env as Record<string, string>);
      await client.get('/health');
      expect(await server.stop()).toBe(0);
      expect(collector.spans).toEqual([]);
    },
  );
});
