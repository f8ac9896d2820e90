import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { sendRaw } from './client.js';

const PAGE = 'https://page.example';
const NO_POINT = '00000000-0000-4000-8000-000000000000';

let closed: TestServer;
let listed: TestServer;
let open: TestServer;

beforeAll(async () => {
  const start = async (CORS_ORIGINS: string) => await startServer({ env: { CORS_ORIGINS } });
  [closed, listed, open] = await Promise.all([
    startServer(),
    start(`${PAGE}, https://other.example`),
    start('*'),
  ]);
});

afterAll(() => expect(open.log()).not.toContain('"level":"error"'));

/** The head of an answer, without what differs from one to the next. */
async function ask(server: TestServer, line: string, headers: readonly string[]): Promise<string> {
  const host = ['Host: x', 'Connection: close'];
  const answer = await sendRaw(server, [line, ...host, ...headers, '', ''].join('\r\n'));
  return answer.replaceAll(/^(?:x-request-id|Date): .*\r\n/gim, '');
}

const PREFLIGHT = [
  'Access-Control-Request-Method: POST',
  'Access-Control-Request-Headers: api-key',
];

describe.each([
  ['/points', 'POST'],
  ['/points/search', 'POST'],
  ['/points/search/batch', 'POST'],
  [`/points/${NO_POINT}`, 'GET, HEAD, DELETE'],
  ['/health', 'GET, HEAD'],
])('a preflight for %s', (path, methods) => {
  test('is answered without a key', async () => {
    const answer = await ask(listed, `OPTIONS ${path} HTTP/1.1`, [`Origin: ${PAGE}`, ...PREFLIGHT]);
    expect(answer.split('\r\n')).toEqual([
      'HTTP/1.1 204 No Content',
      'Vary: Origin',
      `Access-Control-Allow-Origin: ${PAGE}`,
      'Access-Control-Expose-Headers: x-request-id, retry-after',
      `Access-Control-Allow-Methods: ${methods}`,
      'Access-Control-Allow-Headers: api-key, authorization, content-type',
      'Access-Control-Max-Age: 7200',
      'Connection: close',
      '',
      '',
    ]);
  });

  test('of any origin is answered with *', async () => {
    const answer = await ask(open, `OPTIONS ${path} HTTP/1.1`, ['Origin: null', ...PREFLIGHT]);
    expect(answer).toMatch(/^HTTP\/1.1 204 /);
    expect(answer).toContain('\r\nAccess-Control-Allow-Origin: *\r\n');
    expect(answer).not.toContain('Vary');
  });

  test.each([
    ['of another origin', () => listed, ['Origin: https://page.example.evil', ...PREFLIGHT]],
    ['without an origin', () => listed, PREFLIGHT],
    ['without a method', () => listed, [`Origin: ${PAGE}`]],
    ['where CORS_ORIGINS is not set', () => closed, [`Origin: ${PAGE}`, ...PREFLIGHT]],
  ])('%s is no preflight', async (_, server, headers) => {
    const answer = await ask(server(), `OPTIONS ${path} HTTP/1.1`, headers);
    expect(answer).toMatch(path === '/health' ? /^HTTP\/1.1 405 / : /^HTTP\/1.1 401 /);
    expect(answer).not.toContain('Access-Control-Allow-Methods');
  });
});

test.each(['/points/x/y', '/points/%2e%2e/health', '/points/search/', '/nothing'])(
  'a preflight for %s, which is no path, tells nothing',
  async (path) => {
    const answer = await ask(listed, `OPTIONS ${path} HTTP/1.1`, [`Origin: ${PAGE}`, ...PREFLIGHT]);
    expect(answer).toMatch(path === '/nothing' ? /^HTTP\/1.1 404 / : /^HTTP\/1.1 401 /);
  },
);

test('what a page asks for still needs a key, and it may read the refusal', async () => {
  const headers = [`Origin: ${PAGE}`, 'Content-Length: 0'];
  const answer = await ask(listed, 'POST /points HTTP/1.1', headers);
  expect(answer).toMatch(/^HTTP\/1.1 401 /);
  expect(answer).toContain(`\r\nAccess-Control-Allow-Origin: ${PAGE}\r\n`);
  expect(answer).toContain('\r\nVary: Origin\r\n');
});

test('answers to others tell caches that they depend on the origin', async () => {
  const answer = await ask(listed, 'GET /health HTTP/1.1', []);
  expect(answer).toContain('\r\nVary: Origin\r\n');
  expect(answer).not.toContain('Access-Control');
});

test('without CORS_ORIGINS an answer is as it was', async () => {
  expect(await ask(closed, 'GET /health HTTP/1.1', [`Origin: ${PAGE}`])).toBe(
    await ask(closed, 'GET /health HTTP/1.1', []),
  );
});

test('the log names an origin that is refused, and no other', async () => {
  const refused = 'https://refused.example';
  for (const [server, isNamed] of [
    [closed, true],
    [listed, true],
    [open, false],
  ] as const) {
    for (const origin of [refused, 'http://x', PAGE]) {
      await ask(server, 'GET /health HTTP/1.1', [`Origin: ${origin}`]);
    }
    const lines = server.log().split('\n');
    const told = lines.filter((line) => line.includes('CORS_ORIGINS does not name the origin'));
    expect(told.some((line) => line.includes(refused))).toBe(isNamed);
    expect(told.some((line) => line.includes('"http://x"'))).toBe(false);
  }
  expect(listed.log()).not.toContain(`"${PAGE}"`);
});
