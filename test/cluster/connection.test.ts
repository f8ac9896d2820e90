import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../src/config/config.js';
import { Nats } from '../../src/cluster/nats/nats.js';
import { HAS_NO_NATS } from '../support/cluster.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { Link } from '../support/link.js';
import { Servers } from '../support/nats-servers.mjs';
import { findNatsServer } from '../support/tools.mjs';

const PATIENCE = { timeout: 20_000 };

/** More than the system takes for a peer that reads nothing. */
const LARGE = Array.from({ length: 32 }, () => new Uint8Array(1_000_000));

async function startServer(settings: object = {}): Promise<Servers> {
  const options = { count: 1, settings } as const;
  const server = await Servers.start(findNatsServer() ?? '', makeTemporaryFolder(), options);
  onTestFinished(async () => await server.end());
  return server;
}

async function connectTo(...addresses: readonly string[]): Promise<Nats> {
  const urls = addresses.map((address) => `nats://${address}`).join(',');
  const nats = await Nats.connect(
    readConfig({ CLUSTER_URL: urls, SERVICE_KEYS_FILE: 'keys.json' }),
  );
  onTestFinished(async () => await nats.close());
  return nats;
}

describe.skipIf(HAS_NO_NATS)('the connection of a node (needs nats-server)', () => {
  test('leaves a server that is silent, however much was sent to it', async () => {
    const servers = [await startServer(), await startServer()];
    const addresses = servers.flatMap(({ addresses: [address = ''] }) => address);
    const nats = await connectTo(...addresses);
    const silent = addresses.indexOf(nats.connection.getServer());
    await servers[silent]?.suspend(0);
    for (const bytes of LARGE) nats.send('nobody', bytes);
    await expect.poll(() => nats.connection.getServer(), PATIENCE).toBe(addresses[1 - silent]);
    await expect.poll(() => nats.isConnected, PATIENCE).toBe(true);
    await nats.connection.flush();
  });

  test('is made again where servers do not get its credentials in time', async () => {
    const users = [{ user: 'someone', password: 'something' }];
    const settings = { authorization: { users, timeout: 0.5 }, no_auth_user: 'someone' };
    const { addresses } = await startServer(settings);
    const link = await Link.open(addresses[0] ?? '');
    onTestFinished(() => link.close());
    const nats = await connectTo(link.address);
    link.cut('up');
    await expect.poll(() => nats.isConnected, PATIENCE).toBe(false);
    // Each of them is one that a server has ended.
    await sleep(5_000);
    link.mend();
    await expect.poll(() => nats.isConnected, PATIENCE).toBe(true);
  });

  test('is not tried again once it is closed', async () => {
    const server = await startServer();
    const [address = ''] = server.addresses;
    const nats = await connectTo(address);
    await server.suspend(0);
    await expect.poll(() => nats.isConnected, PATIENCE).toBe(false);
    await server.kill(0);
    const begunAtMs = performance.now();
    await nats.close();
    expect(performance.now() - begunAtMs).toBeLessThan(1_000);
    let attempts = 0;
    const [host, port] = address.split(':');
    const listener = createServer((socket) => {
      attempts += 1;
      socket.destroy();
    }).listen(Number(port), host);
    onTestFinished(() => void listener.close());
    await sleep(2_000);
    expect(attempts).toBe(0);
  });

  test('sends nothing once it is closed', async () => {
    const { addresses } = await startServer();
    const nats = await connectTo(...addresses);
    await nats.close();
    expect(() => nats.send('nobody', new Uint8Array(1))).not.toThrow();
  });
});
