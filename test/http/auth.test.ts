import { beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { Client, sendRaw, statusOf, text } from './client.js';

const TEXT = 'text/plain; charset=utf-8';
const ID = '9f3c1d52-6f0e-4c8e-9a51-0a4f5f1f6f0b';
const POINT = { vector: [1, 2, 3, 4], payload: text('a') };
const QUERY = { vector: [1, 2, 3, 4], similarity: 'Cosine', limit: 1 };

const READS = [
  ['GET', `/points/${ID}`, undefined, 404],
  ['POST', '/points/search', QUERY, 200],
  ['POST', '/points/search/batch', { queries: [QUERY] }, 200],
] as const;

const WRITES = [
  ['POST', '/points', POINT, 201],
  ['POST', '/points/batch', { vectors: [POINT] }, 201],
  ['DELETE', `/points/${ID}`, undefined, 204],
] as const;

let server: TestServer;
let writer: Client;
let reader: Client;

beforeAll(async () => {
  // Small enough that a request of a few hundred bytes is too large.
  server = await startServer({ env: { MAX_REQUEST_BYTES: '200' } });
  writer = new Client(server, server.keys.readwrite);
  reader = new Client(server, server.keys.readonly);
});

describe('the key', () => {
  it.each([...READS, ...WRITES])('%s %s without a key is 401', async (method, path, body) => {
    const answer = await new Client(server, undefined).send(method, path, body);
    expect(answer.status).toBe(401);
    expect(answer.text).toBe('The api-key header is missing');
    expect(answer.headers.get('content-type')).toBe(TEXT);
  });

  it.each([...READS, ...WRITES])('%s %s with an unknown key is 401', async (method, path, body) => {
    const { readwrite } = server.keys;
    const near = [`${readwrite}x`, readwrite.slice(0, -1), readwrite.toUpperCase()];
    for (const key of ['wrong', '', ...near]) {
      expect((await new Client(server, key).send(method, path, body)).status, key).toBe(401);
    }
  });

  it('does not count in another header', async () => {
    const { readwrite } = server.keys;
    const headers = { authorization: `Bearer ${readwrite}`, 'x-api-key': readwrite };
    const answer = await new Client(server, undefined).send('POST', '/points', POINT, headers);
    expect(answer.status).toBe(401);
    expect(answer.text).toBe(
      'The api-key header is missing: HTTP takes the key there, and not in authorization',
    );
  });

  it('given twice is 401, whether the two are right, wrong or the same', async () => {
    const { readwrite, readonly } = server.keys;
    const pairs = [
      [readwrite, readwrite],
      [readwrite, readonly],
      ['wrong', readwrite],
      [readwrite, ''],
    ];
    for (const [first, second] of pairs) {
      const answer = await sendRaw(
        server,
        `GET /points/${ID} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n` +
          `api-key: ${first}\r\nAPI-Key: ${second}\r\n\r\n`,
      );
      expect(statusOf(answer)).toBe(401);
      expect(answer).toContain('given more than once');
    }
  });

  it('may have its header in any case', async () => {
    const answer = await sendRaw(
      server,
      `GET /points/${ID} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n` +
        `API-KEY:   ${server.keys.readonly}  \r\n\r\n`,
    );
    expect(statusOf(answer)).toBe(404);
  });
});

describe('the role', () => {
  it.each(READS)('readonly may %s %s', async (method, path, body, status) => {
    expect((await reader.send(method, path, body)).status).toBe(status);
  });

  it.each(WRITES)('readonly may not %s %s: 403', async (method, path, body) => {
    const answer = await reader.send(method, path, body);
    expect(answer.status).toBe(403);
    expect(answer.headers.get('content-type')).toBe(TEXT);
  });

  it.each([...READS, ...WRITES])('readwrite may %s %s', async (method, path, body, status) => {
    expect((await writer.send(method, path, body)).status).toBe(status);
  });

  it('readonly changes nothing', async () => {
    const id = await writer.insert([9, 9, 9, 9]);
    const before = await reader.search([0, 0, 0, 0], 'Euclidean', 1000);
    expect((await reader.delete(`/points/${id}`)).status).toBe(403);
    expect((await reader.post('/points', POINT)).status).toBe(403);
    expect(await reader.search([0, 0, 0, 0], 'Euclidean', 1000)).toEqual(before);
  });
});

describe('the order of checks', () => {
  const nobody = (): Client => new Client(server, undefined);
  const large = 'x'.repeat(300);

  it('the key comes before the route, the method, the role, the size and the body', async () => {
    for (const path of ['/points/x/y/z', '/points/', '/points/batch/x']) {
      expect((await nobody().get(path)).status, path).toBe(401);
    }
    for (const method of ['PUT', 'PATCH', 'OPTIONS', 'DELETE']) {
      expect((await nobody().send(method, '/points')).status, method).toBe(401);
    }
    expect((await nobody().post('/points', large)).status).toBe(401);
    expect((await nobody().post('/points', '{')).status).toBe(401);
    expect((await nobody().send('POST', '/points', 'a', { 'content-type': 'a/b' })).status).toBe(
      401,
    );
  });

  it('the route comes before the role', async () => {
    expect((await reader.post('/points/x/y', POINT)).status).toBe(404);
    expect((await reader.send('PUT', '/points', POINT)).status).toBe(405);
  });

  it('the role comes before the size', async () => {
    expect((await reader.post('/points', large)).status).toBe(403);
  });

  it('the role comes before the id', async () => {
    expect((await reader.delete('/points/not-a-uuid')).status).toBe(403);
  });

  it('the size comes before the type and the body', async () => {
    expect((await writer.post('/points', large)).status).toBe(413);
    const headers = { 'content-type': 'text/plain' };
    expect((await writer.send('POST', '/points', large, headers)).status).toBe(413);
    expect((await writer.send('POST', '/points', 'x', headers)).status).toBe(415);
  });
});

it('no key appears in the log', async () => {
  const chatty = await startServer({ env: { LOG_LEVEL: 'trace' } });
  await new Client(chatty, chatty.keys.readwrite).insert([1, 2, 3, 4]);
  await new Client(chatty, 'an-unknown-key').get('/points');
  await chatty.stop();
  expect(chatty.log()).toContain('"status":201');
  expect(chatty.log()).not.toContain(chatty.keys.readwrite);
  expect(chatty.log()).not.toContain('an-unknown-key');
});
