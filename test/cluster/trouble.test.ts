import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientsOf, HAS_NO_NATS, readinessOf, TestCluster } from '../support/cluster.js';
import type { TestServer } from '../support/server.js';

const TIMEOUT_MS = 90_000;
const PATIENCE = { timeout: 30_000, interval: 100 };

/** As many as a batch may have: a message of NATS holds the outcomes of ten such deletes. */
const MOST_IDS = 100_000;
/** For so long at least they are on their way into the stream. */
const SENT_MS = 6_000;

const NEW = [{ vector: [5, 5, 5, 5], content: 'new' }];

describe.skipIf(HAS_NO_NATS)(
  'a cluster in trouble (needs nats-server)',
  { timeout: TIMEOUT_MS },
  () => {
    let cluster: TestCluster;

    beforeAll(async () => {
      cluster = await TestCluster.start({}, { links: true });
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

    test('outcomes that a node did not hear are told again, however large they are', async () => {
      const [, client] = clientsOf(cluster.nodes).map(({ v1 }) => v1);
      const ids = Array.from({ length: MOST_IDS }, () => randomUUID());
      const once = { deadlineMs: 40_000, retries: { attempts: 1 } };
      const [node, ...others] = cluster.nodes as [TestServer, ...TestServer[]];
      // Nothing is confirmed before all is in the stream.
      for (const { pid } of others) process.kill(pid, 'SIGSTOP');
      const deletes = Array.from({ length: 12 }, async () => await client?.delete(ids, once));
      await sleep(SENT_MS);
      for (const link of cluster.links[0] ?? []) link.cut('down');
      for (const { pid } of others) process.kill(pid, 'SIGCONT');
      await expect.poll(async () => await readinessOf(node), PATIENCE).toContain('no NATS server');
      for (const link of cluster.links[0] ?? []) link.mend();
      for (const answer of await Promise.all(deletes)) expect(answer).toMatchObject({ deleted: 0 });
    });
  },
);
