import { beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { Client, sendRaw, statusOf } from './client.js';

const TEXT = 'text/plain; charset=utf-8';
const ID = '9f3c1d52-6f0e-4c8e-9a51-0a4f5f1f6f0b';

let server: TestServer;
let anyone: Client;
let writer: Client;

beforeAll(async () => {
  server = await startServer();
  anyone = new Client(server, undefined);
  writer = new Client(server, server.keys.readwrite);
});

describe('the open routes', () => {
  it.each([
    ['/', 'Vector Database server is running!'],
    ['/health', 'OK'],
    ['/ready', 'ready'],
  ])('GET %s says %s, without a key', async (path, text) => {
    const answer = await anyone.get(path);
    expect([answer.status, answer.text]).toEqual([200, text]);
    expect(answer.headers.get('content-type')).toBe(TEXT);
  });

  it('GET /docs/openapi.yaml gives the description of the interface, without a key', async () => {
    const answer = await anyone.get('/docs/openapi.yaml');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/yaml');
    expect(answer.text).toMatch(/^openapi: 3\.1/);
  });

  it('work with a key too, even a wrong one, and with a query string', async () => {
    for (const client of [writer, new Client(server, 'wrong')]) {
      for (const path of ['/', '/health', '/ready', '/docs/openapi.yaml', '/?a=b', '/health?%2e']) {
        expect((await client.get(path)).status, path).toBe(200);
      }
    }
  });
});

describe('HEAD', () => {
  it('works where GET does, with the headers of GET and no body', async () => {
    const id = await writer.insert([1, 2, 3, 4]);
    for (const path of ['/', '/health', '/ready', '/docs/openapi.yaml', `/points/${id}`]) {
      const got = await writer.get(path);
      const head = await writer.send('HEAD', path);
      expect([head.status, head.text], path).toEqual([200, '']);
      for (const name of ['content-type', 'content-length']) {
        expect(head.headers.get(name), `${path} ${name}`).toBe(got.headers.get(name));
      }
    }
  });

  it('needs a key under /points and tells a missing point', async () => {
    expect((await anyone.send('HEAD', `/points/${ID}`)).status).toBe(401);
    expect((await writer.send('HEAD', `/points/${ID}`)).status).toBe(404);
  });
});

describe('routes that are not there', () => {
  it('unknown paths outside /points are 404 without a key', async () => {
    for (const path of [
      '/x',
      '/pointsx',
      '/health/',
      '/docs',
      '/docs/',
      '/docs/../package.json',
      '/__proto__',
    ]) {
      const answer = await anyone.get(path);
      expect(answer.status, path).toBe(404);
      expect(answer.headers.get('content-type'), path).toBe(TEXT);
    }
  });

  it('unknown paths under /points are 404 with a key', async () => {
    const paths = ['/points/', `/points/${ID}/`, '/points/search/', '/points/search/batch/x'];
    for (const path of paths) {
      expect((await writer.post(path, {})).status, path).toBe(404);
      expect((await writer.get(path)).status, path).toBe(404);
    }
  });

  it.each([
    ['POST', '/', 'GET, HEAD'],
    ['OPTIONS', '/', 'GET, HEAD'],
    ['DELETE', '/health', 'GET, HEAD'],
    ['POST', '/ready', 'GET, HEAD'],
    ['PUT', '/docs/openapi.yaml', 'GET, HEAD'],
    ['GET', '/points', 'POST'],
    ['OPTIONS', '/points', 'POST'],
    ['GET', '/points/batch', 'POST'],
    ['DELETE', '/points/search', 'POST'],
    ['PATCH', '/points/search/batch', 'POST'],
    ['POST', `/points/${ID}`, 'GET, HEAD, DELETE'],
    ['PROPFIND', `/points/${ID}`, 'GET, HEAD, DELETE'],
  ])('%s %s is 405 and lists what is possible', async (method, path, allow) => {
    const answer = await writer.send(method, path);
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe(allow);
    expect(answer.headers.get('content-type')).toBe(TEXT);
    expect(answer.text).toContain(allow);
  });
});

describe('case, escapes and dot segments', () => {
  const body = '{"vector":[1,2,3,4],"payload":{"content_type":"Text","content":""}}';
  const post = (target: string, key: string | undefined): Promise<string> =>
    sendRaw(
      server,
      `POST ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n` +
        (key === undefined ? '' : `api-key: ${key}\r\n`) +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );

  it.each([
    '/POINTS',
    '/Points',
    '/%70oints',
    '/points%2F',
    '/points%2f..%2fpoints',
    '//points',
    '/./points',
    '/health/../points',
    '/%2e/points',
    '/\\points',
    '/points;x',
    '/points#x',
    '*',
    'http:///points%20',
  ])('%s is an unknown path, with and without a key', async (target) => {
    for (const key of [undefined, server.keys.readwrite]) {
      expect(statusOf(await post(target, key)), String(key)).toBe(404);
    }
  });

  it.each([
    '/points/',
    '/points/../points',
    '/points/.',
    '/points//batch',
    '/points/%62atch',
    '/points/..%2fpoints',
    '/points/%2e%2e/points',
  ])('%s is 401 without a key and no route with one', async (target) => {
    expect(statusOf(await post(target, undefined))).toBe(401);
    expect(statusOf(await post(target, server.keys.readwrite))).toBe(404);
  });

  it('an id with an escaped hyphen is 404 even where the point exists', async () => {
    const id = await writer.insert([1, 2, 3, 4]);
    expect((await writer.get(`/points/${id}`)).status).toBe(200);
    expect((await writer.get(`/points/${id.replace('-', '%2D')}`)).status).toBe(404);
  });

  it('the absolute form of a target is the same path, and needs the same key', async () => {
    for (const target of ['http://elsewhere/points', 'HTTP://user:pw@[::1]:1/points?x=/health']) {
      expect(statusOf(await post(target, undefined)), target).toBe(401);
      expect(statusOf(await post(target, server.keys.readwrite)), target).toBe(201);
    }
  });

  it('a query string is ignored', async () => {
    expect(statusOf(await post('/points?a=/../x&%2e', server.keys.readwrite))).toBe(201);
    expect(statusOf(await post('/points?api-key=' + server.keys.readwrite, undefined))).toBe(401);
  });
});

it('every answer names its request, each another one', async () => {
  const paths = ['/', '/x', '/points', '/points/x'];
  const answers = await Promise.all(paths.map((path) => anyone.get(path)));
  const ids = new Set(answers.map(({ headers }) => headers.get('x-request-id')));
  expect(ids.size).toBe(paths.length);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/);
});
