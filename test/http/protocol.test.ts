import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { Client, sendRaw, statusOf } from './client.js';

const BODY = '{"vector":[1,2,3,4],"payload":{"content_type":"Text","content":""}}';

let server: TestServer;

beforeAll(async () => {
  server = await startServer({ env: { MAX_REQUEST_BYTES: '1000', SLOW_REQUEST_MS: '0' } });
});

/** Nothing that a client sends ends the process. */
afterAll(async () => {
  expect((await new Client(server, undefined).get('/health')).text).toBe('OK');
});

/** The head of an insert, with these lines instead of the usual ones about its body. */
function head(...lines: string[]): string {
  return (
    ['POST /points HTTP/1.1', 'Host: x', `api-key: ${server.keys.readwrite}`, ...lines].join(
      '\r\n',
    ) + '\r\n\r\n'
  );
}

/** Sends bytes, ends its half of the connection, and reads what is answered until the other half ends. */
async function sendAndEnd(bytes: string, to = server): Promise<string> {
  const { hostname, port } = new URL(to.http);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.end(bytes, 'latin1');
  let answer = '';
  for await (const chunk of socket.setEncoding('latin1')) answer += chunk;
  return answer;
}

describe('a client that ends its half of the connection behind its request', () => {
  const ID = '00000000-0000-4000-8000-0000000000c4';
  const search = { vector: [1, 2, 3, 4], similarity: 'Cosine', limit: 1 };
  const request = (line: string, body?: unknown, version = '1.1'): string => {
    const json = body === undefined ? '' : JSON.stringify(body);
    const lines = [`${line} HTTP/${version}`, 'Host: x', `api-key: ${server.keys.readwrite}`];
    const about = ['Content-Type: application/json', `Content-Length: ${json.length}`];
    return `${[...lines, ...(body === undefined ? [] : about)].join('\r\n')}\r\n\r\n${json}`;
  };

  it.each<[string, unknown?]>([
    ['GET /health'],
    ['GET /v1/info'],
    ['GET /docs/openapi.yaml'],
    ['POST /v1/points/upsert', { points: [{ id: ID, vector: [1, 2, 3, 4] }] }],
    ['POST /v1/points/search', search],
    ['POST /v1/points/count', {}],
    ['POST /v1/points/delete', { ids: [ID] }],
  ])('gets its answer to %s, and the end', async (line, body) => {
    expect(statusOf(await sendAndEnd(request(line, body)))).toBe(200);
  });

  it('gets the answers to several requests', async () => {
    const all = [request('GET /health'), request('POST /v1/points/search', search)];
    const answer = await sendAndEnd([...all, ...all].join(''));
    expect(answer.match(/HTTP\/1\.1 200 /g)).toHaveLength(4);
  });

  it('gets the answer to a write of HTTP/1.0 that takes seconds', async () => {
    const to = await startServer({ env: { WARM_METRICS: 'Euclidean,Manhattan,Cosine' } });
    const upsert = async (count: number, version: string): Promise<string> => {
      const points = Array.from({ length: count }, () => ({
        vector: [1, 2, 3, 4].map(() => Math.random()),
      }));
      return await sendAndEnd(request('POST /v1/points/upsert', { points }, version), to);
    };
    await upsert(1, '1.1');
    // More than the graphs may lag behind by: the next one waits for them.
    await upsert(21_000, '1.1');
    expect(statusOf(await upsert(1, '1.0'))).toBe(200);
  }, 60_000);

  it('gets 400 where the request is cut off, and the end where there is none', async () => {
    expect(statusOf(await sendAndEnd(request('POST /v1/points/count', {}).slice(0, -1)))).toBe(400);
    expect(await sendAndEnd('')).toBe('');
  });
});

describe('malformed HTTP', () => {
  const expectRefusal = (answer: string, status: number): void => {
    expect(statusOf(answer)).toBe(status);
    expect(answer.toLowerCase()).toContain('content-type: text/plain; charset=utf-8');
    expect(answer).toContain('Connection: close');
  };

  it('Content-Length together with Transfer-Encoding is 400', async () => {
    const lengths = [`Content-Length: ${BODY.length}`, 'Transfer-Encoding: chunked'];
    for (const lines of [lengths, lengths.toReversed()]) {
      expectRefusal(await sendRaw(server, `${head(...lines)}0\r\n\r\n`), 400);
    }
  });

  it('two different Content-Lengths are 400', async () => {
    const lines = ['Content-Length: 5', 'Content-Length: 6'];
    expectRefusal(await sendRaw(server, `${head(...lines)}hello`), 400);
  });

  it('a coding of the body that the service does not read is 501', async () => {
    for (const coding of ['gzip, chunked', 'GZIP,chunked', 'deflate, gzip, chunked']) {
      const answer = await sendRaw(server, `${head(`Transfer-Encoding: ${coding}`)}0\r\n\r\n`);
      expectRefusal(answer.replace('connection: close', 'Connection: close'), 501);
    }
  });

  it('more than one Host is 400, also where they are equal', async () => {
    for (const more of ['Host: x', 'host: y']) {
      const answer = await sendRaw(server, `${head(more, 'Connection: close')}`);
      expect(statusOf(answer)).toBe(400);
      expect(answer).toContain('The Host header is given more than once');
    }
  });

  it('another version of HTTP is 400', async () => {
    for (const version of ['2.0', '0.9']) {
      const request = `GET /health HTTP/${version}\r\nHost: x\r\nConnection: close\r\n\r\n`;
      expect(statusOf(await sendRaw(server, request))).toBe(400);
    }
  });

  it('broken chunks are 400', async () => {
    expectRefusal(await sendRaw(server, `${head('Transfer-Encoding: chunked')}zz\r\n`), 400);
  });

  it('what is not HTTP is 400', async () => {
    expectRefusal(await sendRaw(server, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc'), 400);
    expectRefusal(await sendRaw(server, 'HELLO\r\n\r\n'), 400);
    expectRefusal(await sendRaw(server, 'GET / HTTP/9.9\r\n\r\n'), 400);
  });

  it('headers that are too large are 431', async () => {
    expectRefusal(await sendRaw(server, head(`x: ${'y'.repeat(100_000)}`)), 431);
  });

  it('CONNECT is 405, with and without a key, and nothing that follows is read', async () => {
    for (const lines of ['', `api-key: ${server.keys.readwrite}\r\n`]) {
      const answer = await sendRaw(server, `CONNECT x:443 HTTP/1.1\r\nHost: x\r\n${lines}\r\nx`);
      expectRefusal(answer, 405);
      expect(answer).toContain('Allow: GET, HEAD, POST, DELETE');
      expect(answer).toMatch(/CONNECT is not possible here$/);
    }
  });

  it('HTTP/1.1 without a Host is 400', async () => {
    const answer = await sendRaw(server, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n');
    expect(statusOf(answer)).toBe(400);
    expect(answer).toContain('Host');
  });

  it('a header cannot smuggle a second one', async () => {
    const answer = await sendRaw(
      server,
      'GET /points/x HTTP/1.1\r\nHost: x\r\n' +
        `x: y\rapi-key: ${server.keys.readwrite}\r\nConnection: close\r\n\r\n`,
    );
    expect(statusOf(answer)).toBe(400);
  });
});

describe('Expect: 100-continue', () => {
  const lines = ['Connection: close', 'Expect: 100-continue'];

  it('is told to continue once the body is wanted', async () => {
    const answer = await withBodyAfterContinue(
      head(...lines, `Content-Length: ${BODY.length}`),
      BODY,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 Created\r\n/);
  });

  it('is refused without the body when key, role, size or type is wrong', async () => {
    const length = `Content-Length: ${BODY.length}`;
    const { readwrite, readonly } = server.keys;
    const heads: [number, string][] = [
      [401, head(...lines, length).replace(readwrite, 'wrong')],
      [403, head(...lines, length).replace(readwrite, readonly)],
      [404, head(...lines, length).replace('/points', '/x')],
      [413, head(...lines, 'Content-Length: 1001')],
      [415, head(...lines, length, 'Content-Type: text/plain')],
    ];
    for (const [status, text] of heads) {
      expect(statusOf(await withBodyAfterContinue(text, BODY)), String(status)).toBe(status);
    }
  });

  it('any other expectation is ignored', async () => {
    const answer = await sendRaw(
      server,
      'GET / HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nConnection: close\r\n\r\n',
    );
    expect(statusOf(answer)).toBe(200);
  });

  /** Sends the body only when it is asked for, and gives all that came back. */
  async function withBodyAfterContinue(start: string, body: string): Promise<string> {
    const { hostname, port } = new URL(server.http);
    const socket = connect(Number(port), hostname);
    socket.write(start);
    let answer = '';
    for await (const chunk of socket.setEncoding('latin1')) {
      answer += chunk;
      if (answer === 'HTTP/1.1 100 Continue\r\n\r\n') socket.write(body);
    }
    return answer;
  }
});

describe('connections', () => {
  it('carry request after request, errors among them', async () => {
    const request = (target: string): string =>
      `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n`;
    const answer = await sendRaw(
      server,
      request('/') +
        request('/x') +
        request('/points') +
        request('/health').replace('keep-alive', 'close'),
    );
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(
      [200, 404, 401, 200].map((status) => `HTTP/1.1 ${status}`),
    );
  });

  it('stay usable after a refused body, whole or in chunks or compressed', async () => {
    const body = 'x'.repeat(100_000);
    const chunk = `${body.length.toString(16)}\r\n${body}\r\n`;
    const chunked = head('Transfer-Encoding: chunked') + chunk.repeat(5) + '0\r\n\r\n';
    const gzip = 'Content-Encoding: gzip';
    const refused: [number, string][] = [
      [413, head(`Content-Length: ${body.length}`) + body],
      [413, chunked],
      [400, head(gzip, 'Content-Length: 900') + body.slice(0, 900)],
      [400, chunked.replace('Host', `${gzip}\r\nHost`)],
    ];
    for (const [status, request] of refused) {
      const next = 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
      const answer = await sendRaw(server, request + next);
      expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`, 'HTTP/1.1 200']);
    }
  });

  it('HTTP/1.0 is answered', async () => {
    expect(statusOf(await sendRaw(server, 'GET /health HTTP/1.0\r\n\r\n'))).toBe(200);
    // At once, which is before its client is taken for gone.
    expect(statusOf(await sendAndEnd('GET /health HTTP/1.0\r\n\r\n'))).toBe(200);
  });

  it('an asked-for upgrade is ignored', async () => {
    const answer = await sendRaw(
      server,
      'GET /points HTTP/1.1\r\nHost: x\r\nConnection: upgrade, close\r\nUpgrade: h2c\r\n\r\n',
    );
    expect(statusOf(answer)).toBe(401);
  });

  it('that break in the middle of a body leave no trace', async () => {
    for (let times = 0; times < 20; times += 1) {
      const { hostname, port } = new URL(server.http);
      const socket = connect(Number(port), hostname);
      await new Promise<void>((resolve) =>
        socket.write(head('Content-Length: 900') + '{"vector":', () => resolve()),
      );
      socket.resetAndDestroy();
    }
    expect((await new Client(server, undefined).get('/health')).status).toBe(200);
    expect(server.log()).not.toMatch(/"level":"(warn|error|fatal)"/);
  });
});
