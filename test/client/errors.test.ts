import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createGrpcServer } from 'nice-grpc';
import { beforeAll, describe, expect, expectTypeOf, onTestFinished, test } from 'vitest';
import {
  connect,
  ConflictError,
  InvalidArgumentError,
  NotFoundError,
  TooLargeError,
  UnauthenticatedError,
  type Client,
  type ConnectOptions,
  type ErrorCode,
} from '../../src/client/node.js';
import { connect as connectInBrowser } from '../../src/client/browser.js';
import type { ErrorCode as ServiceCode } from '../../src/core/errors.js';
import { HealthDefinition } from '../../src/gen/grpc/health/v1/health.js';
import { startServer, type TestServer } from '../support/server.js';
import {
  all,
  expectFailure,
  expectInvalid,
  failureOf,
  id,
  open,
  PROTOCOLS,
  UNKNOWN,
} from './open.js';

const POINT = { vector: [1, 2, 3, 4] };
const NEAREST = { similarity: 'Cosine', limit: 1 } as const;
const ONCE = { retries: { attempts: 1 } };

/** A client as JavaScript sees it. */
type Untyped = { [Name in keyof Client]: (...values: unknown[]) => ReturnType<Client[Name]> };

let server: TestServer;

beforeAll(async () => {
  server = await startServer({ env: { MAX_BATCH: '3', MAX_REQUEST_BYTES: '20000' } });
});

test('each code of the service is one of the client, except what the client never provokes', () => {
  type Never = 'METHOD_NOT_ALLOWED' | 'UNSUPPORTED_MEDIA_TYPE';
  type Timeout = 'OUTCOME_UNKNOWN';
  expectTypeOf<Exclude<ServiceCode, Never | Timeout | ErrorCode>>().toBeNever();
});

describe.each(PROTOCOLS)('over %s', (protocol) => {
  test('failures are of a class for each code, and tell how the log names the call', async () => {
    const client = open(server, protocol);
    const like = { like: UNKNOWN, similarity: 'Cosine', limit: 1 } as const;
    const missing = await failureOf(client.search(like));
    expect(missing).toBeInstanceOf(NotFoundError);
    expect(missing).toMatchObject({ name: 'NotFoundError', code: 'NOT_FOUND', retryable: false });
    expect(missing.requestId).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(await failureOf(client.deleteAll(99))).toBeInstanceOf(ConflictError);
  });

  test.each([undefined, 'no such key'])('the key %s is refused', async (key) => {
    const failure = await failureOf(open(server, protocol, { key }).count());
    expect(failure).toBeInstanceOf(UnauthenticatedError);
    expect(failure.code).toBe('UNAUTHENTICATED');
    const isTold = failure.message === 'no key: connect(address, { key })';
    expect(isTold, failure.message).toBe(key === undefined);
    expect(failure.requestId).toBeDefined();
  });

  test('a search alone is not named as the first of a list', async () => {
    const client = open(server, protocol);
    const short = { ...NEAREST, vector: [1] };
    await expectFailure(client.search(short), 'INVALID_ARGUMENT', /^vector has 1 dimensions/);
    await expectFailure(
      client.searchAll([short]),
      'INVALID_ARGUMENT',
      /^queries\[0\]: vector has 1 dimensions/,
    );
  });

  test('a key that no header holds is refused at once, and not shown', () => {
    const make = (): unknown => open(server, protocol, { key: 'clé' });
    expect(make).toThrow(/^key cannot be sent/);
    expect(make).not.toThrow('clé');
  });

  /** Calls that the types forbid, by what their failures begin with. */
  const invalid: Record<string, (client: Untyped) => Promise<unknown>> = {
    'ifAbsent is "no", expected true or false': (client) =>
      client.upsert([POINT], { ifAbsent: 'no' }),
    'ifAbsent is 1, expected true or false': (client) => client.bulk([POINT], { ifAbsent: 1 }),
    'exact is "no", expected true or false': (client) =>
      client.search({ ...POINT, ...NEAREST, exact: 'no' }),
    'queries[0].exact is 1, expected true or false': (client) =>
      client.searchAll([{ ...POINT, ...NEAREST, exact: 1 }]),
    'vector[0] is "1", expected a number': (client) =>
      client.search({ ...NEAREST, vector: ['1', 2, 3, 4] }),
    'after is "", expected the `next` of a page': (client) =>
      client.scrollPage({ limit: 1, after: '' }),
    'after is 5, expected a string': (client) => all(client.scroll({ after: 5 })),
    'ids is "x", expected an array': (client) => client.get('x'),
    'ids is a Set, expected an array': (client) => client.delete(new Set(['x'])),
    'ids[0] is 5, expected a string': (client) => client.delete([5]),
    'include is "content", expected an array': (client) =>
      client.get([UNKNOWN], { include: 'content' }),
    'include is null, expected an array': (client) =>
      client.search({ ...POINT, ...NEAREST, include: null }),
    'include[0] is "distance", expected one of vector': (client) =>
      client.get([UNKNOWN], { include: ['distance'] }),
    'points is an Object, expected an array': (client) => client.upsert(POINT),
    'points is an Object, expected what can be iterated over': (client) => client.bulk(POINT),
    'points[0] is null, expected an object': (client) => client.update([null]),
    'points[1] is "x", expected an object': (client) => client.bulk([POINT, 'x']),
    'queries is undefined, expected an array': (client) => client.searchAll(undefined),
    'query is undefined, expected an object': (client) => client.search(undefined),
    'onProgress is 5, expected a function': (client) => client.bulk([POINT], { onProgress: 5 }),
    'deadlineMs is "5", expected a number': (client) => client.count({ deadlineMs: '5' }),
    'signal is an Object, expected an AbortSignal': (client) => client.count({ signal: {} }),
    'retries is 5, expected an object, or 0': (client) => client.count({ retries: 5 }),
    'query.includes is unknown, expected only vector': (client) =>
      client.search({ ...NEAREST, vector: [1, 2, 3, 4], includes: [] }),
    'queries[1].k is unknown, expected only vector': (client) =>
      client.searchAll([
        { ...POINT, ...NEAREST },
        { ...POINT, ...NEAREST, k: 1 },
      ]),
    'points[1].contnet is unknown, expected only id, vector, content, contentType, metadata': (
      client,
    ) => client.upsert([POINT, { ...POINT, contnet: 'x' }]),
    'points[0].contnet is unknown, expected only id, vector': (client) =>
      client.bulk([{ ...POINT, contnet: 'x' }]),
    'points[0].vector is unknown, expected only id, content, contentType, metadata': (client) =>
      client.update([{ id: UNKNOWN, vector: [1] }]),
    'options is null, expected an object': (client) => client.scrollPage(null),
    'options.includes is unknown, expected only include, deadlineMs, signal, retries': (client) =>
      client.get([UNKNOWN], { includes: [] }),
    'options.kind is unknown, expected only filter, deadlineMs, signal, retries': (client) =>
      client.count({ kind: 'doc' }),
    'options.ifabsent is unknown, expected only ifAbsent, deadlineMs': (client) =>
      client.upsert([POINT], { ifabsent: true }),
    'options.Order is unknown, expected only after, order, filter, include, deadlineMs': (client) =>
      all(client.scroll({ Order: 'newest' })),
    'options.size is unknown, expected only limit, after, order, filter, include': (client) =>
      client.scrollPage({ size: 1 }),
    'retries.tries is unknown, expected only attempts, baseMs, maxMs': (client) =>
      client.count({ retries: { tries: 1 } }),
    'options.batchSize is unknown, expected only batchBytes': (client) =>
      client.bulk([POINT], { batchSize: 5 }),
  };

  test.each(Object.keys(invalid))('what cannot be meant is refused: %s', async (message) => {
    const call = invalid[message];
    await expectInvalid(Promise.resolve(call?.(open(server, protocol) as Untyped)), message);
    expect(await open(server, protocol).count()).toBe(0);
  });

  test('too many points, and too many bytes, are too large', async () => {
    const client = open(server, protocol);
    const points = Array.from({ length: 4 }, () => POINT);
    await expectFailure(
      client.upsert(points),
      'TOO_LARGE',
      /^points has 4 items, at most 3 are allowed \(MAX_BATCH\); bulk stores any number of points/,
    );
    // So many are refused before any of them is read.
    const unread = {
      get vector(): never {
        throw new Error('read');
      },
    };
    const many = Array.from({ length: 10_000 }, () => unread);
    await expectFailure(
      client.upsert(many),
      'TOO_LARGE',
      /^points has 10000 items, at most 3 are allowed \(MAX_BATCH\); bulk stores any number/,
    );
    const long = { ...POINT, content: 'x'.repeat(20_000) };
    expect(await failureOf(client.upsert([long]))).toBeInstanceOf(TooLargeError);
  });

  test('an address where nobody listens is a lost connection', async () => {
    const address = `${protocol}://127.0.0.1:4`;
    const client = connect(address, ONCE);
    onTestFinished(() => client.close());
    const message = /^no answer came from the service: connect ECONNREFUSED 127\.0\.0\.1:4$/;
    await expectFailure(client.count(), 'CONNECTION_LOST', message);
  });
});

describe('what answers as vectord does not', () => {
  async function serve(listener: RequestListener): Promise<string> {
    const http = createServer(listener).listen(0, '127.0.0.1');
    onTestFinished(() => void http.close());
    await once(http, 'listening');
    return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  }

  test.each([
    [200, 'UNEXPECTED_ANSWER', /HTTP 200 and not that of this operation: "<p>hello/],
    [302, 'UNEXPECTED_ANSWER', /HTTP 302/],
    [404, 'UNEXPECTED_ANSWER', /HTTP 404/],
    [502, 'CONNECTION_LOST', /HTTP 502/],
  ] as const)('over HTTP, with %i, is %s', async (status, code, message) => {
    const headers = { 'content-type': 'text/html', location: '/elsewhere' };
    const address = await serve((_, response) => {
      response.writeHead(status, headers).end(`<p>hello${' '.repeat(999)}`);
    });
    const failure = await failureOf(connect(address, ONCE).count());
    expect(failure.message).toMatch(message);
    expect(failure.message.length).toBeLessThan(300);
    expect(failure.code).toBe(code);
  });

  test('over HTTP, with other JSON, is unexpected', async () => {
    const address = await serve((_, response) => void response.end('{"status":"ok"}'));
    await expectFailure(connect(address, ONCE).info(), 'UNEXPECTED_ANSWER', /not that of this/);
  });

  test('over HTTP may tell when to try again by a date, as proxies do', async () => {
    const date = new Date(Date.now() + 60_000).toUTCString();
    const address = await serve((_, response) => {
      response.writeHead(503, { 'retry-after': date }).end();
    });
    const { retryAfterMs } = await failureOf(connect(address, ONCE).count());
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  test('over HTTP, with an answer that breaks off, is a lost connection', async () => {
    const address = await serve((_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"count":');
      response.destroy();
    });
    await expectFailure(connect(address, ONCE).count(), 'CONNECTION_LOST', /no answer/);
  });

  test('over gRPC, without the service, is unexpected', async () => {
    const other = createGrpcServer();
    other.add(HealthDefinition, {
      check: async () => await Promise.reject(new Error('not asked for')),
      async *watch() {},
    });
    const port = await other.listen('127.0.0.1:0');
    onTestFinished(async () => await other.shutdown());
    const client = connect(`grpc://127.0.0.1:${port}`, ONCE);
    onTestFinished(() => client.close());
    await expectFailure(client.count(), 'UNEXPECTED_ANSWER', /UNIMPLEMENTED/);
  });
});

describe('connect', () => {
  test.each([
    '',
    '127.0.0.1:3000',
    'localhost:3000',
    'ftp://127.0.0.1',
    'http://',
    'http://key@127.0.0.1',
    'http://127.0.0.1?a=1',
    'grpc://127.0.0.1:50051/v1',
    undefined,
    5,
  ])('refuses the address %j', (address) => {
    const make = (): Client => connect(address as string);
    expect(make).toThrow(/^address is .*, expected an address such as http:/);
    expect(make).not.toThrow('key@');
  });

  test.each([
    [{ deadlineMs: -1 }, 'deadlineMs is -1'],
    [{ deadlineMs: NaN }, 'deadlineMs is NaN'],
    [{ retries: { attempts: 0 } }, 'retries.attempts is 0'],
    [{ retries: { maxMs: -1 } }, 'retries.maxMs is -1'],
    [{ retries: { baseMs: Infinity } }, 'retries.baseMs is Infinity'],
    [{ retries: 5 }, 'retries is 5, expected an object, or 0 for none'],
    [{ deadlineMs: '5' }, 'deadlineMs is "5"'],
    [{ fetch: 5 }, 'fetch is 5, expected a function'],
    [{ key: null }, 'key cannot be sent'],
    [null, 'options is null, expected an object'],
  ])('refuses the options %j', (options, message) => {
    for (const address of ['http://127.0.0.1', 'grpc://127.0.0.1']) {
      const make = (): Client => connect(address, options as ConnectOptions);
      expect(make).toThrow(InvalidArgumentError);
      expect(make).toThrow(message);
      if (!address.startsWith('http')) continue;
      expect(() => connectInBrowser(address, options as ConnectOptions)).toThrow(message);
    }
  });

  test('takes a path in front of /v1, as where a proxy has one', async () => {
    const paths: string[] = [];
    const { http, keys } = server;
    const client = connect('http://example.org/vectors/', {
      key: keys.readonly,
      fetch: async (url, init) => {
        paths.push(url);
        return await fetch(`${http}${new URL(url).pathname.replace('/vectors', '')}`, init);
      },
    });
    expect(await client.get([id(1)])).toEqual({ points: [], missing: [id(1)] });
    expect(paths).toEqual(['http://example.org/vectors/v1/points/get']);
  });
});
