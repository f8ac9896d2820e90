import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';

const BUILT = fileURLToPath(new URL('../../dist/console/', import.meta.url));

const FILES = [
  ['/console', 'index.html', 'text/html; charset=utf-8'],
  ['/console/', 'index.html', 'text/html; charset=utf-8'],
  ['/console/assets/console.js', 'console.js', 'text/javascript; charset=utf-8'],
  ['/console/assets/console.css', 'console.css', 'text/css; charset=utf-8'],
] as const;

/** What all of the console may take on its way to a browser. */
const MOST_BYTES = 150 * 1024;

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

interface Answer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** An answer as it is on the wire: `fetch` would unpack it and follow where it leads. */
async function get(
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    const asked = request(server.http + path, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const { statusCode: status, headers: found } = response;
        resolve({ status, headers: found, body: Buffer.concat(chunks) });
      });
    });
    asked.on('error', reject).end();
  });
}

describe.each(FILES)('GET %s', (path, file, type) => {
  const built = readFileSync(join(BUILT, file));

  it('answers the file without a key and without a redirect', async () => {
    const { status, headers, body } = await get(path);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe(type);
    expect(headers['content-encoding']).toBeUndefined();
    expect(body.equals(built)).toBe(true);
  });

  it('answers it by gzip to those who take that, and to nobody else', async () => {
    const zipped = await get(path, { 'accept-encoding': 'br, gzip' });
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(zipped.headers['vary']).toContain('Accept-Encoding');
    expect(gunzipSync(zipped.body).equals(built)).toBe(true);
    const plain = await get(path, { 'accept-encoding': 'br, gzip;q=0' });
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(plain.body.equals(built)).toBe(true);
  });

  it('is answered 304 while it is the same', async () => {
    const { headers } = await get(path);
    const etag = String(headers['etag']);
    expect(etag).toMatch(/^W\/"[\w-]{43}"$/);
    expect(headers['cache-control']).toBe('no-cache');
    for (const encoding of ['gzip', 'identity']) {
      const again = await get(path, { 'if-none-match': etag, 'accept-encoding': encoding });
      expect([again.status, again.body.length]).toEqual([304, 0]);
      expect(again.headers['etag']).toBe(etag);
    }
    expect((await get(path, { 'if-none-match': 'W/"other"' })).status).toBe(200);
  });

  it('may load and ask nothing but this service', async () => {
    const { headers } = await get(path);
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['referrer-policy']).toBe('no-referrer');
    const policy = String(headers['content-security-policy']).split('; ');
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ]),
    );
    expect(policy.join()).not.toMatch(/unsafe|https?:|\*/);
  });

  it('sets no cookie, and takes other methods for what they are', async () => {
    const { headers, body } = await get(path, {}, 'HEAD');
    expect(headers['set-cookie']).toBeUndefined();
    expect([headers['content-length'], body.length]).toEqual([String(built.length), 0]);
    const posted = await get(path, {}, 'POST');
    expect([posted.status, posted.headers['allow']]).toEqual([405, 'GET, HEAD']);
  });
});

test('the page names its files by whole paths, so that it works with and without a slash', () => {
  const page = readFileSync(join(BUILT, 'index.html'), 'utf8');
  const links = Array.from(page.matchAll(/(?:src|href)="([^"]*)"/g), ([, link]) => link);
  const loaded = links.filter((link) => link?.startsWith('data:') !== true);
  expect(loaded.toSorted()).toEqual(['/console/assets/console.css', '/console/assets/console.js']);
});

test.each(['/console/index.html', '/console/assets/', '/console/assets/x.js', '/consolex'])(
  '%s is not there',
  async (path) => {
    expect((await get(path)).status).toBe(404);
  },
);

test('all of it is small', () => {
  const sizes = readdirSync(BUILT).map((name) => gzipSync(readFileSync(join(BUILT, name))).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST_BYTES);
});

test('the licenses of what is in the script are beside it', () => {
  const licenses = readFileSync(join(BUILT, 'LICENSES.txt'), 'utf8');
  expect(licenses).toMatch(/^preact\n\nThe MIT License/m);
  expect(licenses).toMatch(/^uuid\n\nThe MIT License/m);
});

test('HTTP_CONSOLE turns it off', async () => {
  const off = await startServer({ env: { HTTP_CONSOLE: 'off' } });
  for (const [path] of FILES) {
    const response = await fetch(off.http + path);
    expect([response.status, await response.text()], path).toEqual([
      404,
      'There is nothing at this path. /docs/openapi.yaml has all paths.',
    ]);
  }
  expect((await fetch(`${off.http}/health`)).status).toBe(200);
});
