import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { createChannel, createClient } from 'nice-grpc';
import { expect, test, vi } from 'vitest';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthDefinition,
} from '../../src/gen/grpc/health/v1/health.js';
import { RawClient } from '../grpc/client.js';
import { Client, text } from '../http/client.js';
import { startServer, type TestServer } from '../support/server.js';
import * as wire from '../support/wire.js';
import { Scrape } from './exposition.js';

const SEGMENT_BYTES = 64 * 1024;

test('a service that is stopping is not ready, to whoever can still ask', async () => {
  const server = await startServer();
  const { hostname, port } = new URL(server.http);
  const key = `Host: x\r\napi-key: ${server.keys.readwrite}\r\n`;
  const body = JSON.stringify({ vector: [1, 2, 3, 4], payload: text('') });
  const head = `POST /points HTTP/1.1\r\n${key}content-length: ${body.length}\r\n\r\n`;
  // A request whose body is late keeps its connection open while the service stops, for one more.
  const askers = ['/ready', '/metrics'].map((path) => {
    const asker = { path, answers: '', socket: connect(Number(port), hostname) };
    asker.socket.setEncoding('latin1').on('data', (piece: string) => (asker.answers += piece));
    asker.socket.write(`GET /ready HTTP/1.1\r\n${key}\r\n${head}`);
    return asker;
  });
  const all = (): string => askers.map(({ answers }) => answers).join('');
  await vi.waitFor(() => expect(all().split('\r\n\r\nready')).toHaveLength(3));
  const stopped = server.stop();
  await vi.waitFor(() => expect(server.log()).toContain('"stopping"'));
  for (const { path, socket } of askers) {
    socket.write(`${body}GET ${path} HTTP/1.1\r\n${key}\r\n`);
  }
  await Promise.all(askers.map(({ socket }) => once(socket, 'close')));
  expect(all().match(/HTTP\/1\.1 \d+/g)).toEqual(
    [200, 201, 503, 200, 201, 200].map((code) => `HTTP/1.1 ${code}`),
  );
  expect(all()).toContain('\r\n\r\nthe service is stopping');
  expect(all()).toMatch(/^vectord_ready 0$/m);
  expect(await stopped).toBe(0);
});

test('damage turns readiness red, and the log names it under the ids of the answers', async () => {
  const { server, id } = await startDamaged();
  const client = new Client(server, server.keys.readonly);
  const answer = await client.get(`/points/${id}`);
  expect(answer.status).toBe(500);
  const httpId = answer.headers.get('x-request-id') ?? '';
  expect(answer.text).toBe(`Internal server error (request ${httpId})`);
  const caller = new RawClient(server.grpc, server.keys.readonly);
  const called = await caller.call('GetPoint', wire.delimited(1, wire.delimited(1, id)));
  expect(called.code).toBe(status.INTERNAL);
  const grpcId = called.requestId ?? '';
  expect(called.details).toBe(`Internal server error (request ${grpcId})`);
  caller.close();

  const lines = (): Record<string, unknown>[] => {
    const json = server
      .log()
      .split('\n')
      .filter((line) => line.includes('"request failed"'));
    return json.map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  await vi.waitFor(() => expect(lines()).toHaveLength(2));
  const reason = { level: 'error', err: { message: expect.stringContaining('.log') as string } };
  expect(lines()).toMatchObject([
    { ...reason, requestId: httpId, interface: 'http', route: '/points/:id', status: 500 },
    { ...reason, requestId: grpcId, interface: 'grpc', status: 'INTERNAL' },
  ]);

  const ready = await client.get('/ready');
  expect(ready.status).toBe(503);
  expect(ready.text).toBe(
    `the record of point ${id} is damaged: answers that would hold it are refused, and searches ` +
      'may miss it',
  );
  expect((await client.get('/health')).status).toBe(200);
  const health = createClient(HealthDefinition, createChannel(server.grpc));
  expect(await health.check({ service: '' })).toEqual({ status: ServingStatus.NOT_SERVING });
  const scrape = new Scrape((await client.get('/metrics')).text);
  expect(scrape.value('vectord_ready')).toBe(0);
  expect(scrape.value('vectord_fault', { kind: 'damage' })).toBe(1);
  expect(scrape.value('vectord_fault', { kind: 'write' })).toBe(0);
  // That /ready says so is not a failure of the request.
  expect(lines()).toHaveLength(2);
  await server.stop();
});

test('whoever watches the health of the service hears of damage', async () => {
  const { server, id } = await startWithPoint();
  const channel = createChannel(server.grpc);
  const told: ServingStatus[] = [];
  for await (const answer of createClient(HealthDefinition, channel).watch({ service: '' })) {
    told.push(answer.status);
    if (answer.status !== ServingStatus.SERVING) break;
    rotVector(server);
    await new Client(server, server.keys.readonly).get(`/points/${id}`);
  }
  expect(told).toEqual([ServingStatus.SERVING, ServingStatus.NOT_SERVING]);
  channel.close();
  await server.stop();
});

const VECTOR = [1.25, 2.5, 3.75, 4.125];
const env = { SEGMENT_BYTES: String(SEGMENT_BYTES) };

/** A service with a point in a file that is full. */
async function startWithPoint(): Promise<{ server: TestServer; id: string }> {
  const server = await startServer({ env });
  const client = new Client(server, server.keys.readwrite);
  const id = await client.insert(VECTOR);
  for (let segment = 0; segment < 3; segment += 1) {
    await client.insert([1, 2, 3, 4], text('x'.repeat(SEGMENT_BYTES)));
  }
  return { server, id };
}

/** A service on a folder where the vector of that point has rotted. */
async function startDamaged(): Promise<{ server: TestServer; id: string }> {
  const { server, id } = await startWithPoint();
  expect(await server.stop()).toBe(0);
  rotVector(server);
  return { server: await startServer({ env, dataPath: server.dataPath }), id };
}

function rotVector({ dataPath }: TestServer): void {
  const path = join(dataPath, '00000001.log');
  const bytes = readFileSync(path);
  const at = bytes.indexOf(new Uint8Array(Float32Array.from(VECTOR).buffer));
  expect(at).toBeGreaterThan(0);
  const file = openSync(path, 'r+');
  writeSync(file, new Uint8Array([bytes.readUInt8(at) ^ 1]), 0, 1, at);
  closeSync(file);
}
