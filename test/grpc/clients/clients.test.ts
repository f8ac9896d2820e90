import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { DelayProxy } from '../../support/delay-proxy.js';
import { untilInflight } from '../../support/inflight.js';
import { startServer, type TestServer } from '../../support/server.js';
import { ON_NICE_GRPC } from '../../support/vectord.js';
import { TESTED_CLIENTS, type Driver } from './drivers.js';
import { DIMENSION, HEAVY_BYTES, STEPS, type StepName } from './steps.js';

const MIB = 1024 * 1024;
/**
 * What a server must not log. Where grpc-js answers, Node.js warns of its own accord: the timers of
 * grpc-js cannot reach the farthest deadlines.
 */
const TROUBLE = ON_NICE_GRPC
  ? /"level":"(warn|error|fatal)"/
  : /"level":"(warn|error|fatal)"|Warning/;
const TITLED_STEPS = Object.entries(STEPS).map(
  ([step, title]) => [title, step as StepName] as const,
);
const NAMED_CLIENTS = TESTED_CLIENTS.map((client) => [client.name, client] as const);

describe.each(NAMED_CLIENTS)('%s', (_, { isInstalled, encodings, start }) => {
  describe.skipIf(!isInstalled)('on one connection', () => {
    let server: TestServer;
    let line: DelayProxy;
    let driver: Driver;

    beforeAll(async () => {
      server = await startServer({ dimension: DIMENSION, env: { SLOW_REQUEST_MS: '0' } });
      line = await DelayProxy.open(server.grpc);
      driver = start(line.address, server.keys.readwrite);
    });

    afterAll(async () => {
      await driver.close();
      line.close();
      await untilInflight(server, 0);
      expect(await server.stop()).toBe(0);
      expect(server.log()).not.toMatch(TROUBLE);
    });

    test.each(TITLED_STEPS)('%s', async (__, step) => {
      await driver.run(step);
      expect(line.connections).toBe(1);
    });

    test.each(encodings)('sends %s', async (encoding) => {
      // The other line may still carry the request of a call whose deadline has passed.
      const own = await DelayProxy.open(server.grpc);
      const compressing = start(own.address, server.keys.readwrite);
      await compressing.runCompressed(encoding);
      await compressing.close();
      own.close();
      expect(own.sentBytes).toBeLessThan(MIB);
    });
  });

  test.skipIf(!isInstalled)('has its calls answered when the server stops', async () => {
    const own = await startServer({ dimension: DIMENSION });
    const driver = start(own.grpc, own.keys.readwrite);
    onTestFinished(() => driver.close());
    const outlived = driver.outliveServer();
    await Promise.race([untilInflight(own, HEAVY_BYTES), outlived]);
    expect(await own.stop()).toBe(0);
    await outlived;
  });
});
