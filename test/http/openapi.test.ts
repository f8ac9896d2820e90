import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { HttpOptions } from '../../src/http/options.js';
import { consoleRoutes } from '../../src/http/console-routes.js';
import { routes } from '../../src/http/routes.js';
import { v1Routes } from '../../src/http/v1-routes.js';
import { startServer, type TestServer } from '../support/server.js';
import { Client, text, type Answer } from './client.js';

interface Document {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly schemas: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  readonly security: readonly unknown[];
}

interface Operation {
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, ResponseObject>>;
  readonly security?: readonly unknown[];
}

interface ResponseObject {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, { readonly example?: unknown }>>;
}

const ID = '9f3c1d52-6f0e-4c8e-9a51-0a4f5f1f6f0b';
const METHODS = new Set(['get', 'post', 'delete', 'put', 'patch', 'options']);
const VECTOR = [1, 2, 3, 4, 5];
const POINT = { vector: VECTOR, payload: text('') };
const QUERY = { vector: VECTOR, similarity: 'Cosine', limit: 1 };
const LIKE_NOBODY = { like: ID.replace(/^9/, '8'), similarity: 'Cosine', limit: 1 };
const PROBLEM = 'application/problem+json';

/** What only a broken or full disk, a cluster or a defect can bring about. */
const NOT_PROVOKED = new Set(['500', '504', '507']);

const GOOD_BODIES: Readonly<Record<string, unknown>> = {
  '/points': POINT,
  '/points/batch': { vectors: [POINT] },
  '/points/search': QUERY,
  '/points/search/batch': { queries: [QUERY] },
  '/v1/points/upsert': { points: [{ id: ID, vector: VECTOR }] },
  '/v1/points/get': { ids: [ID] },
  '/v1/points/search': QUERY,
  '/v1/points/scroll': { limit: 1 },
  '/v1/points/count': {},
  '/v1/points/delete': { ids: [ID] },
  '/v1/points/update': { points: [{ id: ID }] },
};

let server: TestServer;
let document: Document;

beforeAll(async () => {
  // No body at all fits into what may be in flight once it is longer than 400 bytes.
  server = await startServer({
    dimension: 5,
    env: { MAX_REQUEST_BYTES: '500', MAX_INFLIGHT_BYTES: '400' },
  });
  document = parse((await new Client(server, undefined).get('/docs/openapi.yaml')).text);
});

/** Provokes one documented status. */
async function provoke(status: string, method: string, path: string): Promise<Answer> {
  const writer = new Client(server, server.keys.readwrite);
  const id = path.includes('{id}') ? await writer.insert(VECTOR) : '';
  const target = path.replace('{id}', status === '404' ? 'not-a-uuid' : id);
  const body = GOOD_BODIES[path];
  switch (status) {
    case '400':
      return await writer.send(method, target, { unknown: 1 });
    case '401':
      return await new Client(server, undefined).send(method, target, body);
    case '403':
      return await new Client(server, server.keys.readonly).send(method, target, body);
    case '404':
      return await writer.send(method, target, body === QUERY ? LIKE_NOBODY : body);
    case '405':
      return await writer.send('PUT', target);
    case '409':
      return await writer.send(method, target, { all: true, confirm: 1_000_000 });
    case '413':
      return await writer.send(method, target, 'x'.repeat(501));
    case '415':
      return await writer.send(method, target, 'x', { 'content-type': 'text/plain' });
    case '503':
      return await writer.send(method, target, 'x'.repeat(401));
    default:
      return await writer.send(method, target, body);
  }
}

/** The base64 of a vector that has this value in one place. */
function base64With(at: number, value: number): string {
  return Buffer.from(
    Float32Array.from(VECTOR.map((one, place) => (place === at ? value : one))).buffer,
  ).toString('base64');
}

function operations(): { path: string; method: string; operation: Operation }[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => METHODS.has(method))
      .map(([method, operation]) => ({ path, method, operation })),
  );
}

/** Every method and path of the source, whatever the options are that its handlers use. */
function tableOfRoutes(): string[] {
  const some = { service: { rules: { dimension: VECTOR.length } }, hasConsole: true };
  const options = some as HttpOptions;
  const table = [...routes(options), ...v1Routes(options), ...consoleRoutes(options)];
  // What the page of the console loads is no interface.
  const interfaces = table.filter(({ path }) => !path.startsWith('/console/'));
  return interfaces.map(
    ({ method, path }) => `${method.toLowerCase()} ${path.replace(':id', '{id}')}`,
  );
}

/** All schemas of objects that a part of the document leads to. */
function objectsIn(part: unknown, seen = new Set<string>()): Readonly<Record<string, unknown>>[] {
  if (typeof part !== 'object' || part === null) return [];
  const fields: Readonly<Record<string, unknown>> = { ...part };
  const name = String(fields['$ref']).split('/').at(-1) ?? '';
  // Filters lead to filters.
  const leads = seen.has(name) ? [] : [document.components.schemas[name]];
  seen.add(name);
  const inner = [...leads, ...Object.values(fields)].flatMap((one) => objectsIn(one, seen));
  return fields['type'] === 'object' ? [fields, ...inner] : inner;
}

function resolve(response: ResponseObject): ResponseObject {
  const name = response.$ref?.split('/').at(-1);
  return (name === undefined ? undefined : document.components.responses[name]) ?? response;
}

it('names the server that it comes from, whatever its port', () => {
  const urls = document.servers.map(({ url }) => new URL(url, `${server.http}/docs/openapi.yaml`));
  expect(urls.map(({ origin }) => origin)).toEqual([new URL(server.http).origin]);
});

it('says which base64 is a vector', async () => {
  const reader = new Client(server, server.keys.readwrite);
  const { pattern } = document.components.schemas['Base64Vector'] ?? {};
  const allowed = new RegExp(String(pattern), 'u');
  for (const [vector, isOne] of [
    ['AACAPwAAAEAAAEBAAACAQAAAoEA=', true],
    ['AACAPwAAAEAAAEBAAACAQAAAoEA', true],
    // Of six bytes too few, with a bit to spare that is set, and with padding that is too long.
    ['AACAPwAAAEAAAEBAAACAQA==', false],
    ['AACAPwAAAEAAAEBAAACAQAAAoEB=', false],
    ['AACAPwAAAEAAAEBAAACAQAAAoEA==', false],
    // NaN in the first place, an infinity in each of the others.
    ...[0, 1, 2, 3, 4].map((at) => [base64With(at, at === 0 ? NaN : -Infinity), false] as const),
    ...[0, 1, 2, 3, 4].map((at) => [base64With(at, 3.4028234663852886e38), true] as const),
  ] as const) {
    const { status } = await reader.post('/v1/points/search', { ...QUERY, vector });
    expect([vector, allowed.test(vector), status]).toEqual([vector, isOne, isOne ? 200 : 400]);
  }
});

describe('the OpenAPI document', () => {
  it('lists every route that is served, but for the files of the console, and no other', async () => {
    const served: string[] = [];
    for (const path of Object.keys(document.paths)) {
      const target = path.replace('{id}', ID);
      const { headers } = await new Client(server, server.keys.readwrite).send('PATCH', target);
      const allow = headers.get('allow') ?? '';
      for (const method of allow.split(', ')) {
        if (method !== 'HEAD') served.push(`${method.toLowerCase()} ${path}`);
      }
    }
    const documented = operations().map(({ path, method }) => `${method} ${path}`);
    expect(documented.toSorted()).toEqual(served.toSorted());
    expect(documented.toSorted()).toEqual(tableOfRoutes().toSorted());
    expect(documented.toSorted()).toEqual(
      [
        'get /',
        'get /health',
        'get /ready',
        'get /console',
        'get /docs/openapi.yaml',
        'get /metrics',
        'post /points',
        'post /points/batch',
        'post /points/search',
        'post /points/search/batch',
        'get /points/{id}',
        'delete /points/{id}',
        'post /v1/points/upsert',
        'post /v1/points/get',
        'post /v1/points/search',
        'post /v1/points/scroll',
        'post /v1/points/count',
        'post /v1/points/delete',
        'post /v1/points/update',
        'get /v1/info',
      ].toSorted(),
    );
  });

  it('names each status with the type and the headers that the server answers', async () => {
    for (const { path, method, operation } of operations()) {
      for (const [status, response] of Object.entries(operation.responses)) {
        const takesBody = path in GOOD_BODIES;
        // Without a body, 503 takes a server that is stopping or has failed.
        if (NOT_PROVOKED.has(status) || (status === '503' && !takesBody)) continue;
        const answer = await provoke(status, method.toUpperCase(), path);
        const what = `${method} ${path} ${status}`;
        expect(answer.status, what).toBe(Number(status));
        const { content, headers } = resolve(response);
        const types = content === undefined ? [null] : Object.keys(content);
        expect(types, what).toContain(answer.headers.get('content-type'));
        for (const name of Object.keys(headers ?? {})) {
          expect(answer.headers.has(name), `${what} ${name}`).toBe(true);
        }
      }
    }
  });

  it('has an example of each problem, with the code that the server answers', async () => {
    let problems = 0;
    for (const { path, method, operation } of operations()) {
      for (const [status, response] of Object.entries(operation.responses)) {
        const example = resolve(response).content?.[PROBLEM]?.example;
        expect(example !== undefined, `${method} ${path} ${status}`).toBe(
          path.startsWith('/v1/') && status !== '200',
        );
        if (example === undefined || NOT_PROVOKED.has(status)) continue;
        const { json } = await provoke(status, method.toUpperCase(), path);
        expect(json).toEqual({ ...example, detail: expect.any(String) });
        problems += 1;
      }
    }
    expect(problems).toBeGreaterThan(40);
  });

  it('demands a key exactly where the server does', async () => {
    for (const { path, method, operation } of operations()) {
      const target = path.replace('{id}', ID);
      const answer = await new Client(server, undefined).send(method.toUpperCase(), target);
      const security = operation.security ?? document.security;
      expect(answer.status === 401, `${method} ${path}`).toBe(security.length > 0);
    }
  });

  it('bounds a vector by the dimension of the service that serves it', () => {
    const { type, minItems, maxItems } = document.components.schemas['Vector'] ?? {};
    expect({ type, minItems, maxItems }).toEqual({ type: 'array', minItems: 5, maxItems: 5 });
    // 20 bytes are 27 characters of base64, and one of padding.
    const { minLength, maxLength } = document.components.schemas['Base64Vector'] ?? {};
    expect({ minLength, maxLength }).toEqual({ minLength: 27, maxLength: 28 });
  });

  it('allows no other fields where the server refuses them', async () => {
    const objects = operations()
      .filter(({ path }) => path.startsWith('/v1/'))
      .flatMap(({ operation }) => objectsIn(operation.requestBody));
    expect(objects.length).toBeGreaterThan(10);
    for (const { additionalProperties, propertyNames } of objects) {
      // Metadata alone may have fields of any name, or nearly so.
      expect(additionalProperties === false || propertyNames !== undefined).toBe(true);
    }
  });

  it('names each limit with its default', async () => {
    const { text: yaml } = await new Client(server, undefined).get('/docs/openapi.yaml');
    for (const limit of [
      /MAX_REQUEST_BYTES` \| 67,108,864 \(64 MiB\)/,
      /MAX_BATCH` \| 100,000/,
      /MAX_CONTENT_BYTES` \| 1,048,576 \(1 MiB\)/,
      /MAX_SEARCH_WORK` \| 20,000,000/,
      /MAX_INFLIGHT_BYTES` \| 536,870,912 \(512 MiB\)/,
      /MAX_CONNECTIONS` \| 1,024/,
    ]) {
      expect(yaml).toMatch(limit);
    }
  });
});
