import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { untilInflight } from '../support/inflight.js';
import { startServer, type TestServer } from '../support/server.js';
import { Client, text } from './client.js';

const MIB = 1024 * 1024;

/** How long a busy machine may take. */
const PATIENCE = { timeout: 10_000 };

const LIMITS = {
  MAX_REQUEST_BYTES: '2000',
  MAX_BATCH: '3',
  MAX_CONTENT_BYTES: '10',
  MAX_SEARCH_WORK: '150',
  MAX_INFLIGHT_BYTES: '3000',
};

let server: TestServer;
let client: Client;

beforeAll(async () => {
  server = await startServer({ env: LIMITS });
  client = new Client(server, server.keys.readwrite);
});

const point = (content = ''): unknown => ({ vector: [1, 2, 3, 4], payload: text(content) });
const query = (ef?: number): unknown => ({
  vector: [1, 2, 3, 4],
  similarity: 'Euclidean',
  limit: 1,
  ef,
});
const sized = (bytes: number): string => JSON.stringify(point()).padEnd(bytes, ' ');

describe('MAX_REQUEST_BYTES', () => {
  it('a body of exactly that size is accepted, one byte more is 413', async () => {
    expect((await client.post('/points', sized(2000))).status).toBe(201);
    const answer = await client.post('/points', sized(2001));
    expect(answer.status).toBe(413);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(answer.text).toContain('2000 bytes');
  });

  it('counts a compressed body at its decompressed size', async () => {
    const send = async (bytes: number): Promise<number> => {
      const response = await fetch(`${server.http}/points`, {
        method: 'POST',
        headers: { 'api-key': server.keys.readwrite, 'content-encoding': 'gzip' },
        body: new Blob([Uint8Array.from(gzipSync(sized(bytes)))]),
      });
      return response.status;
    };
    expect(await send(2000)).toBe(201);
    expect(await send(2001)).toBe(413);
  });

  it.skipIf(process.platform !== 'linux')(
    'one body without end takes little more memory than that',
    async () => {
      const own = await startServer({ env: { MAX_REQUEST_BYTES: String(32 * MIB) } });
      const before = peakBytes(own);
      for (const chunkBytes of [1, 200, 65_536]) {
        await sendWithoutEnd(own, chunkBytes);
        // What was dropped is garbage for a while.
        expect(peakBytes(own) - before, `chunks of ${chunkBytes}`).toBeLessThan(
          (2 * 32 + 192) * MIB,
        );
      }
      expect((await new Client(own, undefined).get('/health')).text).toBe('OK');
      expect(await own.stop()).toBe(0);
    },
    60_000,
  );

  it('a client that sends far more still receives its 413', async () => {
    const answer = await client.post('/points', sized(20_000_000));
    expect(answer.status).toBe(413);
  });
});

describe('MAX_BATCH', () => {
  it('that many items are accepted, one more is 413 and stores nothing', async () => {
    const insert = async (count: number) =>
      await client.post('/points/batch', { vectors: Array.from({ length: count }, () => point()) });
    expect((await insert(3)).status).toBe(201);
    const before = await client.search([0, 0, 0, 0], 'Euclidean', 100);
    const answer = await insert(4);
    expect([answer.status, answer.text]).toEqual([
      413,
      'vectors has 4 items, at most 3 are allowed (MAX_BATCH)',
    ]);
    expect(await client.search([0, 0, 0, 0], 'Euclidean', 100)).toEqual(before);
  });

  it('bounds the queries of a batch search too', async () => {
    const search = async (count: number) =>
      await client.post('/points/search/batch', {
        queries: Array.from({ length: count }, () => query(1)),
      });
    expect((await search(3)).status).toBe(200);
    const answer = await search(4);
    expect([answer.status, answer.text]).toEqual([
      413,
      'queries has 4 items, at most 3 are allowed (MAX_BATCH)',
    ]);
  });
});

describe('MAX_CONTENT_BYTES', () => {
  it('that many bytes of UTF-8 are accepted, more are 413', async () => {
    for (const content of ['x'.repeat(10), 'é'.repeat(5), '🦀🦀xx']) {
      expect((await client.post('/points', point(content))).status, content).toBe(201);
    }
    for (const content of ['x'.repeat(11), 'é'.repeat(5) + 'x', '🦀🦀xxx']) {
      const answer = await client.post('/points', point(content));
      expect(answer.status, content).toBe(413);
      expect(answer.text).toContain('payload.content has 11 bytes');
    }
  });

  it('names the item of a batch', async () => {
    const vectors = [point(), point('x'.repeat(20))];
    const answer = await client.post('/points/batch', { vectors });
    expect(answer.status).toBe(413);
    expect(answer.text).toContain('vectors[1]: payload.content has 20 bytes');
  });
});

describe('MAX_SEARCH_WORK', () => {
  it('a batch search that asks for more is 413', async () => {
    const search = async (...efs: number[]) =>
      await client.post('/points/search/batch', { queries: efs.map((ef) => query(ef)) });
    expect((await search(75, 75)).status).toBe(200);
    const answer = await search(75, 76);
    expect(answer.status).toBe(413);
    expect(answer.text).toContain('MAX_SEARCH_WORK');
  });

  it('counts a limit as the points that there are', async () => {
    const own = await startServer({ env: { MAX_SEARCH_WORK: '150' } });
    const user = new Client(own, own.keys.readwrite);
    const ids = await user.insertAll(Array.from({ length: 76 }, (_, at) => [at, 1, 2, 3]));
    const all = { ...LARGE, limit: 1_000_000, ef: 1 };
    const search = async () => await user.post('/points/search/batch', { queries: [all, all] });
    const answer = await search();
    expect([answer.status, answer.text]).toEqual([
      413,
      'queries ask for 152 candidates in all (the sum of max(ef, min(limit, points))), ' +
        'at most 150 are allowed (MAX_SEARCH_WORK)',
    ]);
    await user.delete(`/points/${ids[0]}`);
    expect((await search()).status).toBe(200);
    expect(await own.stop()).toBe(0);
  });

  it('a single query is always allowed', async () => {
    expect((await client.post('/points/search', query(100_000))).status).toBe(200);
    const batch = { queries: [query(100_000)] };
    expect((await client.post('/points/search/batch', batch)).status).toBe(200);
  });
});

describe('MAX_INFLIGHT_BYTES', () => {
  it('beyond it a request is 503 at once, until there is room again', async () => {
    const held = [await holdRequest(1500), await holdRequest(1500)];
    await untilInflight(server, 2 * 1499);
    const answer = await client.post('/points', point());
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(answer.text).toContain('MAX_INFLIGHT_BYTES');
    expect((await client.get('/health')).status).toBe(200);
    for (const socket of held) socket.destroy();
    await vi.waitFor(async () => {
      expect((await client.post('/points', point())).status).toBe(201);
    }, PATIENCE);
  });

  it('is not taken by requests that only announce a body', async () => {
    const held = await Promise.all([1, 2, 3].map(() => holdRequest(2000, 0)));
    expect((await client.post('/points', sized(2000))).status).toBe(201);
    for (const socket of held) socket.destroy();
  });

  it('is taken by the arrays that a body is read into, where they are larger', async () => {
    const own = await startServer({ dimension: 4_096, env: { MAX_INFLIGHT_BYTES: '1000000' } });
    const user = new Client(own, own.keys.readonly);
    const vector = Array<number>(4_096).fill(1);
    const large = { vector, similarity: 'Euclidean', limit: 1 };
    const search = async (count: number) =>
      await user.post('/points/search/batch', {
        queries: Array.from({ length: count }, () => large),
      });
    // 100 queries are 0.8 MB of text, and 1.6 MB of floats.
    const answer = await search(100);
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('MAX_INFLIGHT_BYTES');
    expect((await search(40)).status).toBe(200);
    await untilInflight(own, 0);
    expect(await own.stop()).toBe(0);
  });

  it('leaves room for single points, whatever a batch of searches takes', async () => {
    const own = await startServer({
      env: { MAX_INFLIGHT_BYTES: '2000000', MAX_REQUEST_BYTES: '1000000' },
    });
    const user = new Client(own, own.keys.readwrite);
    await user.insertAll(Array.from({ length: 2000 }, (_, index) => [index, 1, 2, 3]));
    // What it finds is more than the engine may hold, the ids alone are not.
    const queries = Array.from({ length: 40 }, () => ({ ...LARGE, limit: 2000 }));
    const over = new AbortController();
    const batches = async (): Promise<number[]> => {
      const statuses = [];
      while (!over.signal.aborted) {
        statuses.push((await user.post('/points/search/batch', { queries })).status);
      }
      return statuses;
    };
    const searching = Promise.all([batches(), batches()]);
    for (let count = 0; count < 30; count += 1) {
      expect((await user.post('/points', point())).status).toBe(201);
    }
    over.abort();
    expect((await searching).flat()).toContain(200);
    expect(await own.stop()).toBe(0);
  });

  it('is given back when clients leave while their bodies are decompressed', async () => {
    const small = await startServer({
      env: { MAX_REQUEST_BYTES: '30000000', MAX_INFLIGHT_BYTES: '31000000' },
    });
    const body = gzipSync(Buffer.alloc(29_000_000, 0x20));
    const head = requestHead(body.length, 'Content-Encoding: gzip');
    const leave = async (afterMs: number): Promise<void> => {
      const socket = connectTo(small);
      socket.write(Buffer.concat([Buffer.from(head), body]));
      await sleep(afterMs);
      socket.destroy();
    };
    for (let afterMs = 5; afterMs <= 50; afterMs += 3) await leave(afterMs);
    await vi.waitFor(async () => {
      const last = await new Client(small, small.keys.readwrite).post('/points', sized(29_000_000));
      expect(last.status).toBe(201);
    }, PATIENCE);
    await small.stop();
  });

  it('counts the ids of large answers until they have been read', async () => {
    const small = await startServer({ env: { MAX_INFLIGHT_BYTES: '16000000' } });
    const reader = new Client(small, small.keys.readwrite);
    await reader.insertAll(Array.from({ length: 100 }, (_, index) => [index, 0, 0, 0]));
    const body = { queries: Array.from({ length: 4_000 }, () => ({ ...LARGE, limit: 100 })) };
    const json = JSON.stringify(body);
    const unread = [connectTo(small), connectTo(small)];
    for (const socket of unread) {
      socket.write(requestHead(json.length, 'Connection: close', '/points/search/batch') + json);
      await once(socket, 'readable');
    }
    const refused = await reader.post('/points/search/batch', body);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await reader.search([0, 0, 0, 0], 'Euclidean', 100)).length).toBe(100);
    for (const socket of unread) socket.destroy();
    await vi.waitFor(async () => {
      const answer = await reader.post('/points/search/batch', body);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-length')).toBe(String(answer.text.length));
      const { results } = answer.json as { results: string[][] };
      expect(results.map((ids) => ids.length)).toEqual(Array(4_000).fill(100));
    }, PATIENCE);
    await small.stop();
  });

  it('refuses a batch whose answer alone would take more, before it is worked on', async () => {
    const own = await startServer({ env: { MAX_INFLIGHT_BYTES: '20000' } });
    const user = new Client(own, own.keys.readwrite);
    await user.insertAll(Array.from({ length: 100 }, (_, at) => [at, 1, 2, 3]));
    const search = async (count: number) => {
      const queries = Array.from({ length: count }, () => ({ ...LARGE, limit: 1_000 }));
      return await user.post('/points/search/batch', { queries });
    };
    const answer = await search(13);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(answer.text).toMatch(/^queries ask for 1300 ids in all, .*MAX_INFLIGHT_BYTES/);
    expect((await search(2)).status).toBe(200);
    expect(await own.stop()).toBe(0);
  });

  it('is given back by every request, whatever its answer', async () => {
    const bodies = [
      [201, sized(1500)],
      [400, '{'.padEnd(1500)],
      [400, sized(1500).replace('Text', 'text')],
      [413, sized(2001)],
    ] as const;
    // One at a time fits, and goes on fitting.
    for (let times = 0; times < 5; times += 1) {
      for (const [status, body] of bodies) {
        expect((await client.post('/points', body)).status).toBe(status);
      }
    }
    // Of several at once some find no room.
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => client.post('/points', sized(1500))),
    );
    const found = new Set(answers.map(({ status }) => status));
    expect([...found].filter((status) => status !== 201 && status !== 503)).toEqual([]);
    await vi.waitFor(async () => {
      expect((await client.post('/points', sized(2000))).status).toBe(201);
    }, PATIENCE);
  });

  /** A request that the server has begun to read, and of whose body the last byte never comes. */
  async function holdRequest(contentLength: number, sent = contentLength - 1): Promise<Socket> {
    const socket = connectTo(server);
    socket.write(requestHead(contentLength, 'Expect: 100-continue'));
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write(' '.repeat(sent));
    return socket;
  }
});

describe('MAX_CONNECTIONS', () => {
  const BODY = JSON.stringify(point());

  it('one more is closed at once, the others go on, and there is room again when one ends', async () => {
    const small = await startServer({ env: { MAX_CONNECTIONS: '3' } });
    const busy = [await beginInsert(small), await beginInsert(small), await beginInsert(small)];
    const more = connectTo(small);
    await new Promise((resolve) => more.resume().once('close', resolve));
    for (const socket of busy) expect(await endInsert(socket)).toBe('HTTP/1.1 201');
    busy[0]?.destroy();
    await vi.waitFor(async () => {
      expect((await new Client(small, undefined).get('/health')).text).toBe('OK');
    }, PATIENCE);
    for (const socket of busy) socket.destroy();
    expect(await small.stop()).toBe(0);
  });

  it('the one without a key for longest gives way, whatever else it asks for', async () => {
    // Each loop chooses among its own.
    const small = await startServer({ env: { MAX_CONNECTIONS: '3', LOOPS: '1' } });
    const busy = await beginInsert(small);
    const silent = connectTo(small);
    await once(silent, 'connect');
    const idle = connectTo(small);
    const idleEnds = new Promise((resolve) => idle.resume().once('close', resolve));
    idle.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((resolve) => silent.resume().once('close', resolve));
    expect(idle.destroyed).toBe(false);
    // A client may see that a connection has closed before its place is free.
    const next = await vi.waitFor(async () => await beginInsert(small), PATIENCE);
    await idleEnds;
    for (const socket of [next, busy]) expect(await endInsert(socket)).toBe('HTTP/1.1 201');
    expect(await small.stop()).toBe(0);
  });

  /** A request that has been read as far as it goes: without its body. */
  async function beginInsert(target: TestServer): Promise<Socket> {
    const socket = connectTo(target);
    socket.write(requestHead(BODY.length, 'Expect: 100-continue'));
    expect(await answerOn(socket)).toBe('HTTP/1.1 100');
    return socket;
  }

  async function endInsert(socket: Socket): Promise<string> {
    socket.write(BODY);
    return await answerOn(socket);
  }

  /** The status line, or nothing where the connection is closed instead. */
  async function answerOn(socket: Socket): Promise<string> {
    const answer = await new Promise((resolve) => {
      socket.once('data', resolve).once('close', () => resolve(''));
    });
    return String(answer).slice(0, 12);
  }
});

describe('connections on which nothing has come', () => {
  // Clients open them ahead, or for a request that they give up.
  it('keep no other out, and stay', async () => {
    const own = await startServer();
    // More than are served at a time without a key.
    const silent = Array.from({ length: 20 }, () => connectTo(own));
    await Promise.all(silent.map(async (socket) => await once(socket, 'connect')));
    const user = new Client(own, own.keys.readwrite);
    expect((await user.post('/points', point())).status).toBe(201);
    expect(silent.filter(({ destroyed }) => destroyed)).toEqual([]);
    // One of them is asked on, late.
    const [late] = silent as [Socket];
    late.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(String(await once(late, 'data'))).toMatch(/^HTTP\/1\.1 200 /);
    const { text: metrics } = await new Client(own, own.keys.readonly).get('/metrics');
    expect(metrics).not.toMatch(/_connections_closed_total\{/);
    expect(await own.stop()).toBe(0);
  });
});

describe('requests of one connection', () => {
  it('are answered one after the other: what is searched for has been inserted', async () => {
    const own = await startServer();
    const { readwrite } = own.keys;
    const insert = JSON.stringify(point());
    const search = JSON.stringify(query());
    const request = (path: string, body: string): string =>
      `POST ${path} HTTP/1.1\r\nHost: x\r\napi-key: ${readwrite}\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`;
    const socket = connectTo(own);
    const both = request('/points', insert) + request('/points/search', search);
    socket.write(both + both);
    let answer = '';
    for await (const piece of socket.setEncoding('latin1')) {
      answer += piece;
      if (answer.split('HTTP/1.1 ').length > 4 && answer.endsWith(']}')) break;
    }
    const ids = Array.from(answer.matchAll(/"point_id":"([^"]+)"/g), ([, id]) => id);
    const found = Array.from(answer.matchAll(/"results":\["([^"]+)"\]/g), ([, id]) => id);
    expect(ids).toHaveLength(2);
    expect(found).toEqual([ids[0], ids[0]]);
    expect(await own.stop()).toBe(0);
  });

  it('a body that goes on after it has been refused costs the connection', async () => {
    const socket = connectTo(server);
    socket.write(requestHead(0, 'Transfer-Encoding: chunked').replace('Content-Length: 0\r\n', ''));
    socket.write('1\r\n \r\n'.repeat(20_000));
    await new Promise((resolve) => socket.resume().once('close', resolve));
    expect((await client.get('/health')).status).toBe(200);
  });

  it('a refused body of which nothing more comes costs it after some seconds, which is told', async () => {
    const own = await startServer();
    const socket = connectTo(own);
    socket.write('POST /points HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n ');
    await new Promise((resolve) => socket.resume().once('close', resolve));
    expect(own.log()).toContain('"reason":"timeout"');
    const { text: metrics } = await new Client(own, own.keys.readonly).get('/metrics');
    expect(metrics).toMatch(/http_connections_closed_total\{reason="timeout"\} 1\n/);
    expect(await own.stop()).toBe(0);
  });
});

/** Sends a chunked body, as fast as it is taken, until it is closed or for some seconds. */
async function sendWithoutEnd(target: TestServer, chunkBytes: number): Promise<void> {
  const socket = connectTo(target);
  socket.resume();
  socket.write(
    `POST /points HTTP/1.1\r\nHost: x\r\napi-key: ${target.keys.readwrite}\r\n` +
      'Transfer-Encoding: chunked\r\n\r\n',
  );
  const chunk = `${chunkBytes.toString(16)}\r\n${' '.repeat(chunkBytes)}\r\n`;
  const many = Buffer.from(chunk.repeat(Math.ceil(65_536 / chunk.length)));
  const closed = new Promise<true>((resolve) => socket.once('close', () => resolve(true)));
  const endsAtMs = performance.now() + 8_000;
  let isClosed = false;
  while (!isClosed && performance.now() < endsAtMs) {
    const taken = new Promise<boolean>((resolve) => socket.write(many, () => resolve(false)));
    isClosed = await Promise.race([taken, closed]);
    await setImmediate();
  }
  socket.destroy();
}

/** The most memory that a process has taken so far. */
function peakBytes(target: TestServer): number {
  const status = readFileSync(`/proc/${target.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

const LARGE = { vector: [1, 0, 0, 0], similarity: 'Euclidean' };

function connectTo(target: TestServer): Socket {
  const { hostname, port } = new URL(target.http);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  return socket;
}

function requestHead(contentLength: number, header: string, path = '/points'): string {
  return (
    `POST ${path} HTTP/1.1\r\nHost: x\r\napi-key: ${server.keys.readwrite}\r\n` +
    `${header}\r\nContent-Length: ${contentLength}\r\n\r\n`
  );
}
