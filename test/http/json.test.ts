import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { Client } from './client.js';

const POINT = '{"vector":[1,2,3,4],"payload":{"content_type":"Text","content":"a"}}';
const QUERY = '{"vector":[1,2,3,4],"similarity":"Cosine","limit":1}';

const ROUTES = [
  ['/points', POINT],
  ['/points/batch', `{"vectors":[${POINT}]}`],
  ['/points/search', QUERY],
  ['/points/search/batch', `{"queries":[${QUERY}]}`],
] as const;

let server: TestServer;
let client: Client;

beforeAll(async () => {
  server = await startServer();
  client = new Client(server, server.keys.readwrite);
});

describe.each(ROUTES)('POST %s', (path, good) => {
  const expectRefusal = async (body: string, status: number, message: string | RegExp) => {
    const answer = await client.post(path, body);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(answer.text).toMatch(message);
  };

  it('is 400 when the body is not JSON', async () => {
    for (const body of [good.slice(0, -1), `${good}x`, '{', 'null,', '<html>', '\u0000']) {
      await expectRefusal(body, 400, /^The body is not valid JSON/);
    }
  });

  it('is 400 when there is no body', async () => {
    await expectRefusal('', 400, 'The body is empty, expected a JSON object');
  });

  it('is 400 when the body is not an object', async () => {
    for (const body of ['null', '[]', '1', '"text"', 'true']) {
      await expectRefusal(body, 400, /^The body is .*, expected an object$/);
    }
  });

  it('is 400 when the fields are missing', async () => {
    await expectRefusal('{}', 400, /^(vector|vectors|queries) is missing/);
  });

  it('is 400 when numbers are not finite', async () => {
    for (const number of ['NaN', 'Infinity', '-Infinity']) {
      await expectRefusal(good.replace('[1,2', `[1,${number}`), 400, /not valid JSON/);
    }
    for (const number of ['1e39', '-3.5e38', '1e999']) {
      await expectRefusal(
        good.replace('[1,2', `[1,${number}`),
        400,
        /vector\[1\] is .*, expected a number within/,
      );
    }
  });

  it('is 400 when arrays are nested a million deep', async () => {
    const deep = '['.repeat(1_000_000) + ']'.repeat(1_000_000);
    await expectRefusal(deep, 400, 'The body is an array, expected an object');
    await expectRefusal(good.replace('[1,', `[${deep},`), 400, /vector\[0\] is an array/);
    await expectRefusal('['.repeat(1_000_000), 400, /not valid JSON/);
    await expectRefusal('{"a":'.repeat(1_000_000), 400, /not valid JSON/);
  }, 30_000);

  it('may hold any number of values in fields that are ignored', async () => {
    const { status } = await client.post(path, good);
    const many = good.replace(/\}$/, `,"x":[${'{},"[",'.repeat(1_000_000)}0]}`);
    expect((await client.post(path, many)).status).toBe(status);
  }, 30_000);

  it("is 415 when the Content-Type is not JSON, with a hint for curl's own", async () => {
    const send = async (type: string) =>
      await client.send('POST', path, good, { 'content-type': type });
    for (const type of ['text/plain', 'application/xml', 'application/json; charset=utf-16']) {
      expect((await send(type)).status, type).toBe(415);
    }
    const form = await send('application/x-www-form-urlencoded');
    expect(form.status).toBe(415);
    expect(form.text).toContain("-H 'content-type: application/json'");
  });

  it('ignores unknown fields and takes the last of duplicates', async () => {
    const odd = good.replace(
      '"vector":',
      '"__proto__":{"x":[]},"constructor":1,"vector":"x","vector":',
    );
    const answer = await client.post(path, odd);
    expect(answer.status).toBe((await client.post(path, good)).status);
  });

  it('accepts white space, escapes in names and a compressed body', async () => {
    const { status } = await client.post(path, good);
    const spaced = good.replaceAll(',', ' ,\r\n\t').replace('"vector"', '"v\\u0065ctor"');
    expect((await client.post(path, spaced)).status).toBe(status);
    const compressed = await fetch(server.http + path, {
      method: 'POST',
      headers: { 'api-key': server.keys.readwrite, 'content-encoding': 'gzip' },
      body: new Blob([Uint8Array.from(gzipSync(good))]),
    });
    expect(compressed.status).toBe(status);
  });
});

it('a field of the payload is named where it is', async () => {
  const answer = await client.post('/points', POINT.replace('"Text"', '"text"'));
  expect([answer.status, answer.text]).toEqual([
    400,
    'payload.content_type is "text", expected "Image" or "Text"',
  ]);
});

it('a vector of the wrong dimension is 400 and says both dimensions', async () => {
  for (const numbers of ['', '1', '1,2,3', '1,2,3,4,5']) {
    const answer = await client.post('/points', POINT.replace('1,2,3,4', numbers));
    const count = numbers === '' ? 0 : numbers.split(',').length;
    expect([answer.status, answer.text]).toEqual([
      400,
      `vector has ${count} dimensions, this service stores 4`,
    ]);
  }
});
