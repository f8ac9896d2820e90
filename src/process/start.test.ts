import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Connection, framed, type OpenCall } from '../../test/grpc/http2-call.js';
import { ManualClock } from '../../test/support/manual-clock.js';
import { ownFolder } from '../../test/support/vectord.js';
import * as wire from '../../test/support/wire.js';
import { readConfig } from '../config/config.js';
import { createLogger } from '../observe/logger.js';
import { SHUTDOWN_GRACE_MS } from './shutdown.js';
import { start, type RunningService } from './start.js';

/** Large enough for the thread that reads large requests. */
const BODY = JSON.stringify({
  vector: [1, 2, 3, 4],
  payload: { content_type: 'Text', content: 'x' },
}).padEnd(200_000);
const ITEM = wire.delimited(1, wire.insertRequest([1, 2, 3, 4], ' '.repeat(200_000)));

let clock: ManualClock;
let service: RunningService;
/** An insert on each interface, of which only the last byte has not come. */
let late: { socket: Socket; calls: Connection; call: OpenCall };

beforeEach(async () => {
  const { environment } = ownFolder();
  const config = readConfig({ ...environment, HTTP_PORT: '0', GRPC_PORT: '0', LOOPS: '1' });
  clock = new ManualClock();
  service = await start(config, createLogger('silent'), clock);
  late = await beginLate();
});

afterEach(() => {
  late.socket.destroy();
  late.calls.close();
});

test('what has not been answered at the end of the time of grace is cut, not before', async () => {
  let hasStopped = false;
  void service.stop().then(() => (hasStopped = true));
  await clock.advance(SHUTDOWN_GRACE_MS - 1);
  await late.calls.settled();
  expect([hasStopped, late.socket.closed, late.call.stream.closed]).toEqual([false, false, false]);
  const cut = new Promise((resolve) => late.socket.resume().once('close', resolve));
  await clock.advance(1);
  await cut;
  // Less than a gRPC client has to answer a ping.
  await vi.waitFor(() => expect(hasStopped).toBe(true), 10_000);
});

test('a large request that arrives late in the time of grace is not read any more', async () => {
  const stopped = service.stop();
  await clock.advance(SHUTDOWN_GRACE_MS / 2);
  late.socket.write(BODY.slice(-1));
  late.call.stream.end(ITEM.subarray(-1));
  const [answer] = await once(late.socket, 'data');
  expect(answer).toMatch(/^HTTP\/1\.1 503 [^]*Retry-After: 1\r\n[^]*The service is stopping$/);
  expect(await late.call.status).toBe(status.UNAVAILABLE);
  // Its connection is idle then.
  await clock.advance(SHUTDOWN_GRACE_MS / 2 - 1);
  await stopped;
});

async function beginLate(): Promise<typeof late> {
  const { http, grpc } = service.summary;
  const socket = connect(http.port, http.host).setEncoding('latin1');
  socket.on('error', () => {});
  socket.write(
    'POST /points HTTP/1.1\r\nHost: x\r\napi-key: the-key\r\nExpect: 100-continue\r\n' +
      `Content-Length: ${BODY.length}\r\n\r\n`,
  );
  // A connection of which nothing has been read yet is closed as soon as the service stops.
  const [reading] = await once(socket, 'data');
  expect(reading).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  socket.write(BODY.slice(0, -1));
  const calls = new Connection(`${grpc.host}:${grpc.port}`);
  const call = calls.open('InsertVectorsBatch', { authorization: 'the-key' });
  call.stream.write(framed(ITEM).subarray(0, -1));
  await calls.settled();
  await vi.waitFor(() => expect(socket.bytesWritten).toBeGreaterThan(BODY.length));
  return { socket, calls, call };
}
