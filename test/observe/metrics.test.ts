import { execFileSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { RawClient } from '../grpc/client.js';
import { Connection } from '../grpc/http2-call.js';
import { BEGIN, frame, resetCalls, WINDOW_UPDATE } from '../grpc/raw-http2.js';
import { Client, sendRaw, statusOf, text } from '../http/client.js';
import { startServer, type TestServer } from '../support/server.js';
import * as wire from '../support/wire.js';
import { Scrape } from './exposition.js';

const ID = '9f3c1d52-6f0e-4c8e-9a51-0a4f5f1f6f0b';
const VECTOR = [1, 2, 3, 4];
const INSERT = wire.insertRequest(VECTOR, 'x');
const HTTP = 'vectord_http_requests_total';
const GRPC = 'vectord_grpc_requests_total';
const PATIENCE = 10_000;

let server: TestServer;
let anyone: Client;
let reader: Client;
let writer: Client;
let caller: RawClient;

beforeAll(async () => {
  server = await startServer();
  anyone = new Client(server, undefined);
  reader = new Client(server, server.keys.readonly);
  writer = new Client(server, server.keys.readwrite);
  caller = new RawClient(server.grpc, server.keys.readwrite);
});

afterAll(async () => {
  caller.close();
});

async function scrape(client = reader): Promise<Scrape> {
  return new Scrape((await client.get('/metrics')).text);
}

describe('who may scrape', () => {
  test('whoever has a key, of either role', async () => {
    for (const client of [reader, writer]) {
      const answer = await client.get('/metrics');
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    }
    expect((await anyone.get('/metrics')).status).toBe(401);
    expect((await new Client(server, 'wrong').get('/metrics')).status).toBe(401);
  });

  test('a scraper may send its key as Prometheus does, but only once', async () => {
    const send = async (client: Client, authorization: string): Promise<number> =>
      (await client.send('GET', '/metrics', undefined, { authorization })).status;
    expect(await send(anyone, `Bearer ${server.keys.readonly}`)).toBe(200);
    expect(await send(anyone, 'Bearer wrong')).toBe(401);
    expect(await send(anyone, '')).toBe(401);
    expect(await send(reader, `Bearer ${server.keys.readonly}`)).toBe(401);
    const header = `authorization: Bearer ${server.keys.readonly}\r\n`;
    const head = 'GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n';
    expect(statusOf(await sendRaw(server, `${head}${header}\r\n`))).toBe(200);
    expect(statusOf(await sendRaw(server, `${head}${header}${header}\r\n`))).toBe(401);
  });

  test('that way of sending a key opens nothing else', async () => {
    const authorization = `Bearer ${server.keys.readwrite}`;
    const answer = await anyone.send('GET', `/points/${ID}`, undefined, { authorization });
    expect(answer.status).toBe(401);
  });

  test('HEAD works, other methods do not', async () => {
    expect((await reader.send('HEAD', '/metrics')).status).toBe(200);
    expect((await reader.send('POST', '/metrics')).status).toBe(405);
    expect((await reader.get('/metrics/')).status).toBe(404);
  });

  test('everyone, where the setting says so', async () => {
    const open = await startServer({ env: { METRICS_OPEN: 'on' } });
    const client = new Client(open, undefined);
    expect((await scrape(client)).value('vectord_points')).toBe(0);
    expect((await client.get(`/points/${ID}`)).status).toBe(401);
    await open.stop();
  });
});

describe('requests', () => {
  test('each is counted once, under its method, route and status', async () => {
    const startedAtMs = performance.now();
    const before = await scrape();
    const id = await writer.insert(VECTOR);
    await writer.post('/points', {});
    await writer.post('/points', { vector: [1], payload: text('') });
    await anyone.get(`/points/${id}`);
    await reader.post('/points', {});
    await writer.get(`/points/${ID}`);
    await writer.send('HEAD', `/points/${id}`);
    await writer.send('PUT', '/points');
    await writer.delete(`/points/${id}`);
    await writer.post('/points/search/batch', { queries: [] });
    await anyone.get('/health');
    const after = await scrape();
    expect(after.since(before, HTTP)).toEqual({
      '{method=GET,route=/metrics,status=200}': 1,
      '{method=POST,route=/points,status=201}': 1,
      '{method=POST,route=/points,status=400}': 2,
      '{method=POST,route=/points,status=403}': 1,
      '{method=other,route=/points,status=405}': 1,
      '{method=GET,route=none,status=401}': 1,
      '{method=GET,route=/points/:id,status=404}': 1,
      '{method=HEAD,route=/points/:id,status=200}': 1,
      '{method=DELETE,route=/points/:id,status=204}': 1,
      '{method=POST,route=/points/search/batch,status=200}': 1,
      '{method=GET,route=/health,status=200}': 1,
    });
    expect(after.since(before, 'vectord_http_request_duration_seconds_count')).toEqual({
      '{method=GET,route=/metrics}': 1,
      '{method=POST,route=/points}': 4,
      '{method=other,route=/points}': 1,
      '{method=GET,route=none}': 1,
      '{method=GET,route=/points/:id}': 1,
      '{method=HEAD,route=/points/:id}': 1,
      '{method=DELETE,route=/points/:id}': 1,
      '{method=POST,route=/points/search/batch}': 1,
      '{method=GET,route=/health}': 1,
    });
    expect(after.since(before, GRPC)).toEqual({});
    const tookS = after.since(before, 'vectord_http_request_duration_seconds_sum');
    const sumS = Object.values(tookS).reduce((sum, seconds) => sum + seconds, 0);
    expect(sumS).toBeGreaterThan(0);
    expect(sumS).toBeLessThan((performance.now() - startedAtMs) / 1000);
  });

  test('calls are counted under their method and status', async () => {
    const before = await scrape();
    const strangers = new RawClient(server.grpc);
    const readers = new RawClient(server.grpc, server.keys.readonly);
    const missing = wire.delimited(1, wire.delimited(1, ID));
    await caller.call('InsertVector', INSERT);
    await caller.call('InsertVector', Buffer.of(0xff));
    await caller.call('SearchPoints', wire.searchRequest([1], 1));
    await caller.call('SearchPoints', wire.searchRequest(VECTOR, 1));
    await caller.call('SearchPointsBatch', Buffer.alloc(0));
    await caller.call('GetPoint', missing);
    await caller.call('DeletePoint', missing);
    await caller.call('Nope', missing);
    await readers.call('InsertVector', INSERT);
    await strangers.call('InsertVector', INSERT);
    await strangers.call('/grpc.health.v1.Health/Check', Buffer.alloc(0));
    for (const client of [readers, strangers]) client.close();
    const after = await scrape();
    expect(after.since(before, GRPC)).toEqual({
      '{method=vectordb.VectorDB/InsertVector,status=OK}': 1,
      '{method=vectordb.VectorDB/InsertVector,status=INVALID_ARGUMENT}': 1,
      '{method=vectordb.VectorDB/InsertVector,status=PERMISSION_DENIED}': 1,
      '{method=vectordb.VectorDB/InsertVector,status=UNAUTHENTICATED}': 1,
      '{method=vectordb.VectorDB/SearchPoints,status=INVALID_ARGUMENT}': 1,
      '{method=vectordb.VectorDB/SearchPoints,status=OK}': 1,
      '{method=vectordb.VectorDB/SearchPointsBatch,status=OK}': 1,
      '{method=vectordb.VectorDB/GetPoint,status=NOT_FOUND}': 1,
      '{method=vectordb.VectorDB/DeletePoint,status=NOT_FOUND}': 1,
      '{method=unknown,status=UNIMPLEMENTED}': 1,
      '{method=grpc.health.v1.Health/Check,status=OK}': 1,
    });
    const counted = after.since(before, 'vectord_grpc_request_duration_seconds_count');
    expect(counted['{method=vectordb.VectorDB/InsertVector}']).toBe(4);
    expect(after.since(before, HTTP)).toEqual({ '{method=GET,route=/metrics,status=200}': 1 });
  });

  test('what clients make up makes no further lines', async () => {
    const makeUp = async (round: number): Promise<void> => {
      for (let index = 0; index < 30; index += 1) {
        const name = `made-up-${round}-${index}`;
        const method = ['PROPFIND', 'SEARCH', 'PATCH', 'LINK', 'GET'][index % 5] ?? '';
        await anyone.send(method, `/${name}`);
        await writer.send(method, `/points/${name}/x`);
        await writer.send(method, `/points/${name}`);
        await caller.call(name, INSERT);
      }
    };
    await makeUp(1);
    const before = await scrape();
    await makeUp(2);
    const after = await scrape();
    expect(after.samples.length).toBe(before.samples.length);
    expect(JSON.stringify(after.samples)).not.toContain('made-up');
    expect(after.since(before, GRPC)).toEqual({ '{method=unknown,status=UNIMPLEMENTED}': 30 });
  });

  test('what is no HTTP is counted apart', async () => {
    const before = await scrape();
    await sendRaw(server, 'no http\r\n\r\n');
    await sendRaw(server, `GET / HTTP/1.1\r\nHost: x\r\nlong: ${'x'.repeat(20_000)}\r\n\r\n`);
    const after = await scrape();
    expect(after.since(before, 'vectord_http_malformed_total')).toEqual({
      '{status=400}': 1,
      '{status=431}': 1,
    });
  });

  test('those that have not ended are told of, with what they hold', async () => {
    const { hostname, port } = new URL(server.http);
    const socket = connect(Number(port), hostname);
    const head = `POST /points HTTP/1.1\r\nHost: x\r\napi-key: ${server.keys.readwrite}\r\n`;
    socket.write(`${head}content-length: 5000\r\n\r\n${'x'.repeat(3_000)}`);
    const connection = new Connection(server.grpc);
    const { stream } = connection.open('InsertVector', { authorization: server.keys.readwrite });
    // The beginning of a message of 16 MiB.
    stream.write(Buffer.concat([Buffer.of(0), Buffer.alloc(1_999, 1)]));
    // A scrape is itself under way.
    await vi.waitFor(async () => {
      const during = await scrape();
      expect(during.value('vectord_http_requests_under_way')).toBe(2);
      expect(during.value('vectord_grpc_requests_under_way')).toBe(1);
      expect(during.value('vectord_inflight_bytes')).toBe(5_000);
    });
    const before = await scrape();
    socket.destroy();
    stream.close(constants.NGHTTP2_CANCEL);
    await vi.waitFor(async () => {
      const after = await scrape();
      expect(after.value('vectord_http_requests_under_way')).toBe(1);
      expect(after.value('vectord_grpc_requests_under_way')).toBe(0);
      expect(after.value('vectord_inflight_bytes')).toBe(0);
      const ended = after.since(before, 'vectord_grpc_request_duration_seconds_count');
      expect(ended).toEqual({ '{method=vectordb.VectorDB/InsertVector}': 1 });
    });
    connection.close();
  });
});

describe('the filter index', () => {
  const METADATA = [{ a: 1 }, { a: 2 }];

  /** A service of its own that has filtered two points by two fields. */
  async function startFiltered(env: Record<string, string>): Promise<Client> {
    const own = await startServer({ env });
    const client = new Client(own, own.keys.readwrite);
    const points = METADATA.map((metadata) => ({ vector: VECTOR, metadata }));
    await client.post('/v1/points/upsert', { points });
    expect((await scrape(client)).value('vectord_filter_index_bytes')).toBe(0);
    await client.post('/v1/points/count', { filter: { a: 1, b: 1 } });
    return client;
  }

  test('takes memory once a field is filtered by', async () => {
    const client = await startFiltered({});
    await vi.waitFor(async () => {
      const found = await scrape(client);
      const least = 2 * METADATA.length * 8;
      expect(found.value('vectord_filter_index_bytes')).toBeGreaterThanOrEqual(least);
      expect(found.value('vectord_filter_index_limit_bytes')).toBe(1 << 30);
    }, PATIENCE);
  });

  test('takes none where there is no room', async () => {
    const found = await scrape(await startFiltered({ MAX_FILTER_INDEX_BYTES: '1' }));
    expect(found.value('vectord_filter_index_bytes')).toBe(0);
    expect(found.value('vectord_filter_index_limit_bytes')).toBe(1);
  });
});

describe('connections', () => {
  const SEARCH = '/vectordb.VectorDB/SearchPoints';
  let own: TestServer;

  afterEach(async () => {
    expect(await own.stop()).toBe(0);
  });

  /** Connects past all clients; what comes back is thrown away. */
  function connectTo(address: string, first: Uint8Array = Buffer.alloc(0)): Socket {
    const { hostname, port } = new URL(address.startsWith('http') ? address : `http://${address}`);
    const socket = connect(Number(port), hostname).resume();
    socket.on('error', () => {});
    socket.write(first);
    return socket;
  }

  async function ended(socket: Socket): Promise<void> {
    if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  }

  test('those that are open are told of, and how many there may be', async () => {
    own = await startServer({ env: { MAX_CONNECTIONS: '50' } });
    const client = new Client(own, own.keys.readonly);
    const sockets = [
      ...Array.from({ length: 3 }, () => connectTo(own.grpc)),
      ...Array.from({ length: 4 }, () => connectTo(own.http)),
    ];
    await vi.waitFor(async () => {
      const during = await scrape(client);
      expect(during.value('vectord_grpc_connections')).toBe(3);
      // Those of the scrapes as well.
      expect(during.value('vectord_http_connections')).toBeGreaterThan(4);
      expect(during.value('vectord_connections_limit')).toBe(50);
    }, PATIENCE);
    for (const socket of sockets) socket.destroy();
    await vi.waitFor(async () => {
      const after = await scrape(client);
      expect(after.value('vectord_grpc_connections')).toBe(0);
      expect(after.value('vectord_http_connections')).toBeLessThan(4);
      expect(after.all('vectord_grpc_connections_closed_total').size).toBe(0);
    }, PATIENCE);
  });

  test('those that are closed for what their clients do are told of, and logged', async () => {
    own = await startServer();
    const client = new Client(own, own.keys.readonly);
    const idle = Array.from({ length: 40_000 }, () =>
      frame(WINDOW_UPDATE, 0, 0, Buffer.of(0, 0, 0, 1)),
    );
    const attacks = {
      protocol: Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
      resets: Buffer.concat([BEGIN, resetCalls(SEARCH, 1, 2_000)]),
      idle_frames: Buffer.concat([BEGIN, ...idle]),
    };
    for (const attack of Object.values(attacks)) await ended(connectTo(own.grpc, attack));
    const found = await scrape(client);
    const closed = found.all('vectord_grpc_connections_closed_total');
    expect(Object.fromEntries(closed)).toEqual({
      '{reason=protocol}': 1,
      '{reason=resets}': 1,
      '{reason=idle_frames}': 1,
    });
    expect(found.value('vectord_grpc_requests_under_way')).toBe(0);
    for (const reason of Object.keys(attacks)) {
      const line = `"interface":"grpc","reason":"${reason}","address":"127.0.0.1"`;
      expect(own.log()).toContain(line);
    }
  });

  test('over HTTP they are told of, too', async () => {
    own = await startServer();
    const key = own.keys.readonly;
    const request = `GET / HTTP/1.1\r\nHost: x\r\napi-key: ${key}\r\n\r\n`;
    await ended(connectTo(own.http, Buffer.from(request.repeat(1_000))));
    // While the request before it is being answered.
    for (const bytes of ['HELLO\r\n\r\n', 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n']) {
      await ended(connectTo(own.http, Buffer.from(request + bytes)));
    }
    const client = new Client(own, key);
    await vi.waitFor(async () => {
      const found = await scrape(client);
      const closed = found.all('vectord_http_connections_closed_total');
      expect(Object.fromEntries(closed)).toEqual({
        '{reason=pipelining}': 1,
        '{reason=protocol}': 2,
      });
    }, PATIENCE);
    for (const reason of ['pipelining', 'protocol']) {
      const line = `"interface":"http","reason":"${reason}","address":"127.0.0.1"`;
      expect(own.log()).toContain(line);
    }
  });

  test('those that find no place, or give theirs up, are told of on both interfaces', async () => {
    own = await startServer({ env: { MAX_CONNECTIONS: '2' } });
    const busy = [new Connection(own.grpc), new Connection(own.grpc)];
    for (const each of busy) {
      each.open('SearchPoints', { authorization: own.keys.readonly });
      await each.settled();
    }
    await ended(connectTo(own.grpc));
    for (const each of busy) each.close();
    const client = new Client(own, own.keys.readonly);
    await vi.waitFor(async () => {
      expect((await scrape(client)).value('vectord_grpc_connections')).toBe(0);
    }, PATIENCE);
    const silent = [own.grpc, own.grpc, own.http, own.http].map((to) => connectTo(to));
    await vi.waitFor(async () => {
      const found = await scrape(client);
      const grpc = 'vectord_grpc_connections_closed_total';
      expect(found.value(grpc, { reason: 'accept_timeout' })).toBeGreaterThanOrEqual(1);
      expect(found.value(grpc, { reason: 'evicted' })).toBeGreaterThanOrEqual(1);
      const http = 'vectord_http_connections_closed_total';
      expect(found.value(http, { reason: 'evicted' })).toBeGreaterThanOrEqual(1);
    }, PATIENCE);
    for (const socket of silent) socket.destroy();
  });
});

describe('points and what is done for them', () => {
  let own: TestServer;

  afterEach(async () => {
    expect(await own.stop()).toBe(0);
  });

  test('inserts and deletes move the numbers of points, groups and syncs', async () => {
    own = await startServer();
    const client = new Client(own, own.keys.readwrite);
    const before = await scrape(client);
    expect(before.value('vectord_points')).toBe(0);
    expect(before.value('vectord_commit_records_sum')).toBe(0);
    const ids = await client.insertAll(Array.from({ length: 10 }, (_, at) => [at, 1, 2, 3]));
    for (const id of ids.slice(0, 3)) await client.delete(`/points/${id}`);
    await client.delete(`/points/${ids[0]}`);
    const after = await scrape(client);
    expect(after.value('vectord_points')).toBe(7);
    expect(after.value('vectord_commit_records_sum')).toBe(13);
    expect(after.value('vectord_commit_records_count')).toBe(4);
    expect(after.value('vectord_commit_duration_seconds_count')).toBe(4);
    expect(after.value('vectord_log_sync_duration_seconds_count')).toBeGreaterThanOrEqual(4);
    const upS = Date.now() / 1000 - after.value('process_start_time_seconds');
    for (const name of ['log_sync', 'commit']) {
      const sumS = after.value(`vectord_${name}_duration_seconds_sum`);
      expect(sumS, name).toBeGreaterThan(0);
      expect(sumS, name).toBeLessThan(upS);
    }
    const used = execFileSync('du', ['-k', '-s', own.dataPath], { encoding: 'utf8' });
    const ratio = after.value('vectord_data_bytes') / (Number.parseInt(used, 10) * 1024);
    expect(ratio).toBeGreaterThan(0.5);
    expect(ratio).toBeLessThan(1.5);
    const { bavail, bsize } = statfsSync(own.dataPath);
    const left = after.value('vectord_data_available_bytes') / (bavail * bsize);
    expect(left).toBeGreaterThan(0.5);
    expect(left).toBeLessThan(2);
    expect(after.value('vectord_ready')).toBe(1);
    for (const kind of ['write', 'full', 'damage', 'upkeep']) {
      expect(after.value('vectord_fault', { kind })).toBe(0);
    }
  });

  test('deleted points are told of until their slots are free', async () => {
    own = await startServer({ env: { WARM_METRICS: 'euclidean' } });
    const client = new Client(own, own.keys.readwrite);
    const ids = await client.insertAll(Array.from({ length: 500 }, (_, at) => [at, 1, 2, 3]));
    for (const id of ids.slice(0, 3)) await client.delete(`/points/${id}`);
    // They are too few for their slots to be worth a round.
    const after = await scrape(client);
    expect(after.value('vectord_deleted_points')).toBe(3);
    expect(after.value('vectord_points')).toBe(497);
  });

  test('a graph is told of by its similarity, from its beginning until it has caught up', async () => {
    own = await startServer({ env: { WARM_METRICS: 'cosine' } });
    const client = new Client(own, own.keys.readwrite);
    const similarity = 'Cosine';
    await client.insertAll(Array.from({ length: 500 }, (_, at) => [at, 1, 2, 3]));
    await vi.waitFor(
      async () => {
        const found = await scrape(client);
        expect(found.value('vectord_graph_slots', { similarity })).toBe(500);
        expect(found.value('vectord_graph_linked_slots', { similarity })).toBe(500);
        expect(found.value('vectord_graph_caught_up', { similarity })).toBe(1);
        expect(found.value('vectord_graph_failed', { similarity })).toBe(0);
        expect(found.value('vectord_graph_bytes', { similarity })).toBeGreaterThan(500 * 128);
        expect(found.all('vectord_graph_slots').size).toBe(1);
      },
      { timeout: 20_000 },
    );
  });

  test('an answer that is written in pieces ends once', async () => {
    own = await startServer({ dimension: 1 });
    const client = new Client(own, own.keys.readwrite);
    const points = 70_000;
    await client.insertAll(Array.from({ length: points }, (_, at) => [at]));
    const before = await scrape(client);
    expect(await client.search([0], 'Euclidean', points)).toHaveLength(points);
    await vi.waitFor(async () => {
      const after = await scrape(client);
      expect(after.value('vectord_http_requests_under_way')).toBe(1);
      expect(after.value(HTTP, { method: 'POST', route: '/points/search', status: '200' })).toBe(1);
    });
    expect(before.all(HTTP).size).toBeGreaterThan(0);
  });
});

test('the process tells what it is and what it takes', async () => {
  const found = await scrape();
  expect([...found.all('vectord_build_info').values()]).toEqual([1]);
  const startedS = found.value('process_start_time_seconds');
  expect(startedS).toBeGreaterThan(Date.now() / 1000 - 3_600);
  expect(startedS).toBeLessThan(Date.now() / 1000);
  for (const name of [
    'process_resident_memory_bytes',
    'process_cpu_seconds_total',
    'nodejs_heap_size_used_bytes',
    'nodejs_external_memory_bytes',
    'vectord_inflight_limit_bytes',
    'vectord_engine_limit_bytes',
    'vectord_search_jobs_limit',
  ]) {
    expect(found.value(name), name).toBeGreaterThan(0);
  }
  const lag = (name: string): number => found.value(`nodejs_eventloop_lag_${name}_seconds`);
  expect(lag('p50')).toBeLessThanOrEqual(lag('p99'));
  expect(lag('p99')).toBeLessThanOrEqual(lag('max'));
  expect(lag('max')).toBeLessThan(Date.now() / 1000 - startedS);
  const again = await scrape();
  expect(again.value('process_start_time_seconds')).toBe(startedS);
  // Enough to start, and no more than all cores have had.
  const cpuS = again.value('process_cpu_seconds_total');
  expect(cpuS).toBeGreaterThan(0.02);
  expect(cpuS).toBeLessThan((Date.now() / 1000 - startedS) * availableParallelism());
  const heapBytes = again.value('nodejs_heap_size_used_bytes');
  expect(heapBytes).toBeLessThanOrEqual(again.value('nodejs_heap_size_total_bytes'));
  expect(heapBytes).not.toBe(again.value('nodejs_external_memory_bytes'));
  expect(again.value('process_resident_memory_bytes')).toBeGreaterThan(heapBytes);
});
