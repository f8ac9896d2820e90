import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientsOf, HAS_NO_NATS, TestCluster } from '../support/cluster.js';
import type { TestServer } from '../support/server.js';

const TIMEOUT_MS = 90_000;
const PATIENCE = { timeout: 30_000, interval: 100 };

const NEW = [{ vector: [5, 5, 5, 5], content: 'new' }];

async function readinessOf({ http }: TestServer): Promise<string> {
  const response = await fetch(`${http}/ready`);
  return await response.text();
}

describe.skipIf(HAS_NO_NATS)(
  'a cluster in trouble (needs nats-server)',
  { timeout: TIMEOUT_MS },
  () => {
    let cluster: TestCluster;

    beforeAll(async () => {
      cluster = await TestCluster.start();
    }, TIMEOUT_MS);
    afterAll(async () => await cluster.end(), TIMEOUT_MS);

    test('writes and reads go on while a NATS server is away', async () => {
      const [first, , second] = clientsOf(cluster.nodes).map(({ v1 }) => v1);
      const before = (await first?.count()) ?? 0;
      for (const server of [0, 1, 2]) {
        await cluster.servers.kill(server);
        await first?.upsert(NEW, { deadlineMs: 30_000 });
        expect(await second?.count({ deadlineMs: 30_000 })).toBe(before + server + 1);
        cluster.servers.run(server);
        await cluster.servers.ready();
      }
    });

    test('without a majority of nodes writes are not known, and reads are refused', async () => {
      const [client] = clientsOf(cluster.nodes).map(({ v1 }) => v1);
      const once = { deadlineMs: 40_000, retries: { attempts: 1 } };
      const before = (await client?.count()) ?? 0;
      await Promise.all([cluster.nodes[1]?.kill(), cluster.nodes[2]?.kill()]);
      const write = client?.upsert(NEW, once).then(String, String);
      await expect(client?.count(once)).rejects.toThrow('a majority of the replicas');
      expect(await write).toContain('is not known');
      await Promise.all([cluster.run(1), cluster.run(2)]);
      // What was not known is stored once there is a majority again: the stream has it.
      await expect.poll(async () => await client?.count(), PATIENCE).toBe(before + 1);
    });

    test('without NATS nothing is written, and each node says so', async () => {
      const [client] = clientsOf(cluster.nodes).map(({ v1 }) => v1);
      const once = { deadlineMs: 40_000, retries: { attempts: 1 } };
      await Promise.all([0, 1, 2].map(async (server) => await cluster.servers.kill(server)));
      for (const node of cluster.nodes) {
        await expect
          .poll(async () => await readinessOf(node), PATIENCE)
          .toContain('no NATS server');
      }
      await expect(client?.upsert(NEW, once)).rejects.toThrow('nothing was written');
      for (const server of [0, 1, 2]) cluster.servers.run(server);
      for (const node of cluster.nodes) {
        await expect.poll(async () => await readinessOf(node), PATIENCE).toBe('ready');
      }
      await client?.upsert(NEW, { deadlineMs: 30_000 });
    });
  },
);
