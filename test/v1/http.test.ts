import { beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { Client } from '../http/client.js';

const PROBLEM = 'application/problem+json';
const JSON_TYPE = 'application/json; charset=utf-8';
const A = '00000000-0000-4000-8000-00000000000a';
const B = '00000000-0000-4000-8000-00000000000b';
const UNKNOWN = '9f3c1d52-6f0e-4c8e-9a51-0a4f5f1f6f0b';

let server: TestServer;
let client: Client;

beforeAll(async () => {
  server = await startServer({ dimension: 2, env: { MAX_BATCH: '20000' } });
  client = new Client(server, server.keys.readwrite);
  const points = [
    { id: A, vector: [1, 0.1], content: 'a', metadata: { year: 2020, tags: ['x', 'y'] } },
    { id: B, vector: [3, 0], content: 'b', content_type: 'Image' },
  ];
  await client.post('/v1/points/upsert', { points });
});

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly json: unknown;
}

async function ask(operation: string, body: unknown, key = server.keys.readwrite): Promise<Answer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { 'api-key': key, 'content-type': 'application/json' };
  const url = `${server.http}/v1/points/${operation}`;
  const response = await fetch(url, { method: 'POST', body: text, headers });
  return { status: response.status, headers: response.headers, json: await response.json() };
}

function problem(status: number, title: string, code: string, detail: unknown): object {
  return { type: 'about:blank', title, status, detail, code };
}

describe('answers', () => {
  it('are JSON, vectors in the shortest form that reads back as the same f32', async () => {
    const include = ['vector', 'content', 'content_type', 'metadata'];
    const answer = await ask('get', { ids: [B, A, UNKNOWN, A], include });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe(JSON_TYPE);
    expect(answer.json).toEqual({
      points: [
        { id: B, vector: [3, 0], content: 'b', content_type: 'Image', metadata: null },
        {
          id: A,
          vector: [1, 0.1],
          content: 'a',
          content_type: 'Text',
          metadata: { year: 2020, tags: ['x', 'y'] },
        },
      ],
      missing: [UNKNOWN],
    });
  });

  it('hold vectors as base64 of little-endian f32 where that is asked for', async () => {
    const base64 = Buffer.from(Float32Array.of(1, 0.1).buffer).toString('base64');
    const body = { ids: [A], include: ['vector'], vector_format: 'base64' };
    expect((await ask('get', body)).json).toMatchObject({ points: [{ id: A, vector: base64 }] });
    const query = { vector: base64, similarity: 'Euclidean', limit: 1, vector_format: 'base64' };
    const found = await ask('search', { ...query, include: ['vector', 'distance'] });
    expect(found.json).toEqual({ results: [{ id: A, distance: 0, vector: base64 }] });
  });

  it('are read as they are sent where they are long', async () => {
    const own = new Client(await startServer({ dimension: 2 }), server.keys.readwrite);
    const content = 'é'.repeat(1_000);
    const points = Array.from({ length: 500 }, (_, at) => ({ vector: [at, 0], content }));
    const { json } = await own.post('/v1/points/upsert', { points });
    const { ids } = json as { ids: string[] };
    const page = await own.post('/v1/points/scroll', { limit: 500 });
    expect(page.json).toEqual({
      points: ids.map((id) => ({ id, content, content_type: 'Text', metadata: null })),
      next: null,
    });
  });
});

describe('refusals', () => {
  it.each([
    ['upsert', { points: [{ vector: [1, 2], contents: 'x' }] }, /points\[0\].*contents/],
    ['upsert', { points: [{ vector: [1, 2, 3] }] }, /3 dimensions/],
    ['upsert', { point: [] }, /point\b/],
    ['upsert', '{"points":[],"points":[]}', /points.*(twice|once)/],
    ['search', { vector: [1, 2], similarity: 'Cosine', limit: 0 }, /limit/],
    ['search', { vector: [1, 2], limit: 1 }, /similarity/],
    ['scroll', { limit: 1, after: 'x' }, /after/],
    ['count', { filter: { year: {} } }, /filter\.year/],
    ['count', { fliter: {} }, /fliter/],
    ['get', { ids: ['x'] }, /ids\[0\]/],
    ['get', { ids: [A], collection: 'other' }, /collection/],
    ['delete', {}, /ids/],
    ['delete', { all: true }, /confirm/],
    ['update', 'no json', /JSON/],
  ])('of %s %j are problems that say what is wrong', async (operation, body, detail) => {
    const answer = await ask(operation, body);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toBe(PROBLEM);
    const expected = expect.stringMatching(detail);
    expect(answer.json).toEqual(problem(400, 'Bad Request', 'INVALID_ARGUMENT', expected));
  });

  it('name a missing point that is asked about, and a wrong number of points', async () => {
    const like = { like: UNKNOWN, similarity: 'Cosine', limit: 1 };
    const missing = await ask('search', like);
    const found = `like is ${UNKNOWN}, which is the id of no point`;
    expect(missing.json).toEqual(problem(404, 'Not Found', 'NOT_FOUND', found));
    const wrong = await ask('delete', { all: true, confirm: 7 });
    const count = expect.stringContaining('2');
    expect(wrong.json).toEqual(problem(409, 'Conflict', 'CONFLICT', count));
  });

  it.each([
    ['/v1/points/serach', ': is POST /v1/points/search meant?'],
    ['/v1/point/get', ': is POST /v1/points/get meant?'],
    ['/v1/info/', ': is GET /v1/info meant?'],
    ['/v1/search', ': is POST /v1/points/search meant?'],
    ['/v1/collections/a/points/upsert', ': is POST /v1/points/upsert meant?'],
    ['/v1/collections/a', '.'],
    ['/v1/points', '.'],
    ['/v1/points/%67et', '.'],
  ])('name what is meant by %s', async (path, question) => {
    const headers = { 'api-key': server.keys.readonly };
    const response = await fetch(server.http + path, { headers });
    const pages = '/docs/openapi.yaml has all paths, /console is for people.';
    const said = `There is nothing at this path${question} ${pages}`;
    expect(await response.json()).toEqual(problem(404, 'Not Found', 'NOT_FOUND', said));
  });

  it('come in the order of those below /points: key, route, role, body', async () => {
    const codes = async (path: string, key: string): Promise<unknown> => {
      const type = { 'content-type': 'application/json' };
      const headers = key === '' ? type : { ...type, 'api-key': key };
      const response = await fetch(`${server.http}${path}`, { method: 'POST', headers, body: '-' });
      expect(response.headers.get('content-type')).toBe(PROBLEM);
      const { code, status } = (await response.json()) as { code: string; status: number };
      return [status, code, response.status];
    };
    const { readonly, readwrite } = server.keys;
    expect(await codes('/v1/nothing', '')).toEqual([401, 'UNAUTHENTICATED', 401]);
    expect(await codes('/v1', readonly)).toEqual([404, 'NOT_FOUND', 404]);
    expect(await codes('/v1/info/', readonly)).toEqual([404, 'NOT_FOUND', 404]);
    expect(await codes('/v1/info', readonly)).toEqual([405, 'METHOD_NOT_ALLOWED', 405]);
    for (const operation of ['upsert', 'update', 'delete']) {
      const path = `/v1/points/${operation}`;
      expect(await codes(path, readonly)).toEqual([403, 'PERMISSION_DENIED', 403]);
      expect(await codes(path, readwrite)).toEqual([400, 'INVALID_ARGUMENT', 400]);
    }
    for (const operation of ['get', 'search', 'scroll', 'count']) {
      const answer = await codes(`/v1/points/${operation}`, readonly);
      expect(answer).toEqual([400, 'INVALID_ARGUMENT', 400]);
    }
  });

  it('elsewhere stay texts', async () => {
    const answer = await fetch(`${server.http}/points/${UNKNOWN}`);
    expect(answer.status).toBe(401);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  });
});

describe('GET /v1/info', () => {
  it('tells what is running, what it holds and what it bounds', async () => {
    await ask('search', { vector: [1, 2], similarity: 'Cosine', limit: 1 });
    await ask('count', { filter: { year: 2020, $content_type: 'Text' } });
    const headers = { 'api-key': server.keys.readonly };
    const response = await fetch(`${server.http}/v1/info`, { headers });
    expect(response.headers.get('content-type')).toBe(JSON_TYPE);
    expect(await response.json()).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      dimension: 2,
      points: 2,
      bytes: expect.any(Number),
      graphs: expect.any(Array),
      filter_index: expect.arrayContaining(
        ['$content_type', 'year'].map((field) => ({
          field,
          state: expect.stringMatching(/^(building|ready)$/),
          bytes: expect.any(Number),
        })),
      ),
      limits: {
        max_request_bytes: expect.any(Number),
        max_batch: 20_000,
        max_content_bytes: expect.any(Number),
        max_search_work: expect.any(Number),
        max_inflight_bytes: expect.any(Number),
        max_filter_index_bytes: 1 << 30,
      },
    });
  });
});
