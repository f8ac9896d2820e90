import { beforeAll, describe, expect, it } from 'vitest';
import { Random } from '../support/random.js';
import { startServer, type TestServer } from '../support/server.js';
import { Client, text, type Payload } from './client.js';

const JSON_TYPE = 'application/json; charset=utf-8';
const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const UNKNOWN_ID = '9f3c1d52-6f0e-4c8e-9a51-0a4f5f1f6f0b';

interface Point {
  readonly id: string;
  readonly vector: number[];
  readonly payload: Payload;
}

let server: TestServer;
let client: Client;

beforeAll(async () => {
  server = await startServer();
  client = new Client(server, server.keys.readwrite);
});

async function fetchPoint(id: string): Promise<Point> {
  return (await client.get(`/points/${id}`)).json as Point;
}

describe('POST /points', () => {
  it('answers 201 with the id of the point, a UUID of version 4', async () => {
    const answer = await client.post('/points', { vector: [1, 2, 3, 4], payload: text('a') });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('content-type')).toBe(JSON_TYPE);
    expect(answer.json).toEqual({ point_id: expect.stringMatching(UUID_V4) });
  });

  it('gives equal points different ids', async () => {
    const ids = await Promise.all([client.insert([1, 1, 1, 1]), client.insert([1, 1, 1, 1])]);
    expect(new Set(ids).size).toBe(2);
  });

  it('accepts a body without Content-Type', async () => {
    const body = new Blob([JSON.stringify({ vector: [1, 2, 3, 4], payload: text('') })]);
    const headers = { 'api-key': server.keys.readwrite };
    const response = await fetch(`${server.http}/points`, { method: 'POST', body, headers });
    expect(response.status).toBe(201);
  });
});

describe('POST /points/batch', () => {
  const item = (value: number): unknown => ({
    vector: [value, 0, 0, 0],
    payload: text(`item ${value}`),
  });

  it('answers 201 with the ids in input order', async () => {
    const answer = await client.post('/points/batch', { vectors: [item(5), item(6), item(7)] });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('content-type')).toBe(JSON_TYPE);
    const { point_ids: ids } = answer.json as { point_ids: string[] };
    const points = await Promise.all(ids.map(fetchPoint));
    expect(points.map(({ payload }) => payload.content)).toEqual(['item 5', 'item 6', 'item 7']);
    for (const id of ids) expect(id).toMatch(UUID_V4);
  });

  it('accepts an empty batch', async () => {
    const answer = await client.post('/points/batch', { vectors: [] });
    expect([answer.status, answer.json]).toEqual([201, { point_ids: [] }]);
  });

  it.each([
    [{ vector: [1, 2, 3], payload: text('') }, 'vectors[2]: vector has 3 dimensions'],
    [{ vector: [1, 2, 3, 4] }, 'vectors[2].payload is missing'],
    [{ vector: [1, 2, 3, 'x'], payload: text('') }, 'vectors[2].vector[3] is "x"'],
    [{ vector: [1, 2, 3, 1e39], payload: text('') }, 'vectors[2].vector[3] is 1e+39'],
    [{ vector: [1, 2, 3, 4], payload: text('\ud800') }, 'vectors[2]: payload.content holds'],
    [null, 'vectors[2] is null'],
  ])('stores nothing when one item is wrong, and names it: %j', async (bad, message) => {
    const count = async (): Promise<number> =>
      (await client.search([0, 0, 0, 0], 'Euclidean', 100_000)).length;
    const before = await count();
    const answer = await client.post('/points/batch', {
      vectors: [item(1), item(2), bad, item(3)],
    });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(message);
    expect(await count()).toBe(before);
  });
});

describe('GET /points/{id}', () => {
  it('answers the id, the vector and the payload', async () => {
    const payload = { content_type: 'Image', content: 'https://example.com/a.png' } as const;
    const id = await client.insert([1, -2.5, 0, 4], payload);
    const answer = await client.get(`/points/${id}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe(JSON_TYPE);
    expect(answer.json).toEqual({ id, vector: [1, -2.5, 0, 4], payload });
  });

  it('takes the id in upper case for the same point', async () => {
    const id = await client.insert([1, 2, 3, 4]);
    const answer = await client.get(`/points/${id.toUpperCase()}`);
    expect([answer.status, (answer.json as Point).id]).toEqual([200, id]);
  });

  it('is 404 "Point not found" when there is no such point', async () => {
    const answer = await client.get(`/points/${UNKNOWN_ID}`);
    expect([answer.status, answer.text]).toEqual([404, 'Point not found']);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  });

  it.each([
    'not-a-uuid',
    UNKNOWN_ID.replaceAll('-', ''),
    `${UNKNOWN_ID}0`,
    UNKNOWN_ID.slice(1),
    UNKNOWN_ID.replace('9', 'g'),
    '0',
    '__proto__',
  ])('is 404 "Point not found" when the id is not a UUID: %s', async (id) => {
    const answer = await client.get(`/points/${id}`);
    expect([answer.status, answer.text]).toEqual([404, 'Point not found']);
  });
});

describe('DELETE /points/{id}', () => {
  it('answers 204 without a body, and the point is gone from reads and searches', async () => {
    const id = await client.insert([50, 50, 50, 50]);
    expect(await client.search([50, 50, 50, 50], 'Euclidean', 1)).toEqual([id]);
    const answer = await client.delete(`/points/${id}`);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(answer.headers.get('content-type')).toBeNull();
    expect((await client.get(`/points/${id}`)).status).toBe(404);
    expect(await client.search([50, 50, 50, 50], 'Euclidean', 100_000)).not.toContain(id);
  });

  it('answers 204 again for a point that is gone or never was', async () => {
    const id = await client.insert([1, 2, 3, 4]);
    for (let times = 0; times < 2; times += 1) {
      expect((await client.delete(`/points/${id}`)).status).toBe(204);
    }
    expect((await client.delete(`/points/${UNKNOWN_ID}`)).status).toBe(204);
  });

  it('takes the id in upper case for the same point', async () => {
    const id = await client.insert([1, 2, 3, 4]);
    expect((await client.delete(`/points/${id.toUpperCase()}`)).status).toBe(204);
    expect((await client.get(`/points/${id}`)).status).toBe(404);
  });

  it('is 404 "Point not found" when the id is not a UUID', async () => {
    const answer = await client.delete('/points/not-a-uuid');
    expect([answer.status, answer.text]).toEqual([404, 'Point not found']);
  });
});

describe('a vector', () => {
  const insertText = async (numbers: string): Promise<string> => {
    const body = `{"vector":[${numbers}],"payload":{"content_type":"Text","content":""}}`;
    const answer = await client.post('/points', body);
    return (await client.get(`/points/${(answer.json as { point_id: string }).point_id}`)).text;
  };

  it('comes back in the shortest form that reads as the same f32', async () => {
    expect(await insertText('0.1,16777216,0.30000001192092896,-2.5')).toMatch(
      /"vector":\[0\.1,16777216(\.0)?,0\.3,-2\.5\]/,
    );
  });

  it('keeps -0, subnormals and the greatest floats bit for bit', async () => {
    const sent = Float32Array.of(-0, 1e-45, -3.4028234663852886e38, 1.1754942106924411e-38);
    const answer = await insertText('-0.0,1e-45,-3.4028234663852886e38,1.1754942106924411e-38');
    const { vector } = JSON.parse(answer) as Point;
    expect(bits(vector)).toEqual(bits(sent));
    expect(answer).toMatch(/"vector":\[-0(\.0)?,/);
  });

  it('keeps any f32 bit for bit', async () => {
    const random = new Random(31);
    const words = new Uint32Array(1000).map(() => random.below(2 ** 32));
    const sent = new Float32Array(words.buffer).map((value) =>
      Number.isFinite(value) ? value : 0,
    );
    const vectors = Array.from({ length: sent.length / 4 }, (_, index) => [
      ...sent.subarray(4 * index, 4 * index + 4),
    ]);
    const ids = await client.insertAll(vectors);
    for (const [index, id] of ids.entries()) {
      const { vector } = await fetchPoint(id);
      expect(bits(vector)).toEqual(bits(sent.subarray(4 * index, 4 * index + 4)));
    }
  });

  it('is rounded to the nearest f32', async () => {
    const { vector } = JSON.parse(await insertText('0.1,1e-46,3.4028235e38,16777217')) as Point;
    const nearest = Float32Array.of(0.1, 0, 3.4028234663852886e38, 16777216);
    expect(bits(vector)).toEqual(bits(nearest));
  });
});

describe('a content', () => {
  it.each([
    '',
    ' ',
    'plain',
    'Grüße, 世界, 🦀, e\u0301, \u200b\ufeff',
    '\u0000\u0001\u001f\u007f\u2028\u2029',
    'quotes " and \\ and / and \n\r\t',
    '{"json":true}',
    'x'.repeat(100_000),
  ])('comes back byte for byte: %j', async (content) => {
    const id = await client.insert([1, 2, 3, 4], text(content));
    expect((await fetchPoint(id)).payload).toEqual(text(content));
  });

  it('with a lone surrogate is 400', async () => {
    const body = '{"vector":[1,2,3,4],"payload":{"content_type":"Text","content":"\\ud800"}}';
    const answer = await client.post('/points', body);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('payload.content');
  });
});

function bits(values: ArrayLike<number>): number[] {
  return [...new Uint32Array(Float32Array.from(values).buffer)];
}
