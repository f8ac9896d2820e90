import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { status } from '@grpc/grpc-js';
import { createChannel, createClient } from 'nice-grpc';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthDefinition,
} from '../../src/gen/grpc/health/v1/health.js';
import { startServer, type TestServer } from '../support/server.js';
import { ON_NICE_GRPC } from '../support/vectord.js';
import * as wire from '../support/wire.js';
import { RawClient } from './client.js';
import { Connection, framed } from './http2-call.js';

let server: TestServer;

describe('grpc.health.v1.Health', () => {
  beforeAll(async () => {
    server = await startServer();
  });

  afterAll(() => server.kill());

  test.each(['', 'vectordb.VectorDB'])('Check answers SERVING for %j', async (service) => {
    const health = createClient(HealthDefinition, createChannel(server.grpc));
    expect(await health.check({ service })).toEqual({ status: ServingStatus.SERVING });
  });

  test('Check answers NOT_FOUND for a service that is not there', async () => {
    const health = createClient(HealthDefinition, createChannel(server.grpc));
    await expect(health.check({ service: 'x' })).rejects.toMatchObject({ code: status.NOT_FOUND });
  });

  test('Watch answers SERVICE_UNKNOWN for a service that is not there', async () => {
    const health = createClient(HealthDefinition, createChannel(server.grpc));
    for await (const answer of health.watch({ service: 'x' })) {
      expect(answer.status).toBe(ServingStatus.SERVICE_UNKNOWN);
      break;
    }
  });
});

describe('when the service is told to stop', () => {
  beforeEach(async () => {
    server = await startServer();
  });

  afterEach(() => server.kill());

  test('Watch tells at once that the service serves, and then that it stops', async () => {
    const health = createClient(HealthDefinition, createChannel(server.grpc));
    const seen: ServingStatus[] = [];
    for await (const answer of health.watch({ service: 'vectordb.VectorDB' })) {
      seen.push(answer.status);
      if (answer.status === ServingStatus.SERVING) void server.stop();
    }
    expect(seen).toEqual([ServingStatus.SERVING, ServingStatus.NOT_SERVING]);
  });

  test('calls under way are answered', async () => {
    const connection = new Connection(server.grpc);
    const authorization = server.keys.readwrite;
    const calls = Array.from({ length: 50 }, () =>
      connection.open('InsertVector', { authorization }),
    );
    const insert = framed(wire.insertRequest([1, 2, 3, 4], 'x'));
    for (const { stream } of calls) stream.write(insert.subarray(0, 10));
    await connection.settled();
    const stops = once(connection.session, 'goaway');
    const stopped = server.stop();
    await stops;
    for (const { stream } of calls) stream.end(insert.subarray(10));
    const codes = await Promise.all(calls.map(async ({ status: code }) => await code));
    expect(new Set(codes)).toEqual(new Set([status.OK]));
    expect(await stopped).toBe(0);
  });

  // grpc-js has a call of one message refused once all of its request has come.
  test.skipIf(ON_NICE_GRPC)(
    'idle connections and refused calls that go on sending do not hold it',
    async () => {
      const connection = new Connection(server.grpc);
      const { stream, status: refused } = connection.open('InsertVector');
      stream.write(framed(Buffer.alloc(10)));
      expect(await refused).toBe(status.UNAUTHENTICATED);
      const startedMs = performance.now();
      expect(await server.stop()).toBe(0);
      expect(performance.now() - startedMs).toBeLessThan(5_000);
    },
  );
});

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);

test.skipIf(!hasIpv6)('an IPv6 host is listened on, and shown in brackets', async () => {
  const onIpv6 = await startServer({ env: { GRPC_HOST: '::1' } });
  expect(onIpv6.grpc).toMatch(/^\[::1\]:\d+$/);
  const client = new RawClient(onIpv6.grpc);
  expect((await client.call('/grpc.health.v1.Health/Check', Buffer.alloc(0))).code).toBe(status.OK);
  client.close();
  expect(await onIpv6.stop()).toBe(0);
});
