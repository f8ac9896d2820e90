import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { DelayProxy } from '../../support/delay-proxy.js';
import { startServer } from '../../support/server.js';
import { KEEPALIVE_MS, TESTED_CLIENTS } from './drivers.js';
import { DIMENSION } from './steps.js';

const PINGS = 3;
/** A ping, or the answer to one. */
const PING_BYTES = 17;

test('clients keep their idle connections with pings', async () => {
  const server = await startServer({ dimension: DIMENSION });
  const clients = TESTED_CLIENTS.filter(({ isInstalled }) => isInstalled);
  await Promise.all(
    clients.map(async ({ name, start }) => {
      const line = await DelayProxy.open(server.grpc);
      const driver = start(line.address, server.keys.readwrite);
      await driver.run('metadata');
      const sentBytes = line.sentBytes;
      await sleep((PINGS + 1) * KEEPALIVE_MS);
      expect(line.sentBytes - sentBytes, name).toBeGreaterThanOrEqual(PINGS * PING_BYTES);
      await driver.run('metadata');
      expect(line.connections, name).toBe(1);
      await driver.close();
      line.close();
    }),
  );
  expect(server.log()).not.toContain('connection closed');
  expect(await server.stop()).toBe(0);
}, 120_000);
