import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientsOf, HAS_NO_NATS, TestCluster } from '../support/cluster.js';
import { Scrape } from '../observe/exposition.js';
import type { TestServer } from '../support/server.js';

const TIMEOUT_MS = 90_000;
const PATIENCE = { timeout: 30_000, interval: 100 };

const NEW = [{ vector: [5, 5, 5, 5], content: 'new' }];
const WRITES = 'vectord_cluster_writes_total';
const LAST = 'vectord_cluster_stream_last_sequence';
const SHARD = { shard: '0' };
const SERVERS = 'vectord_cluster_nats_servers';
const CONNECTIONS = 'vectord_cluster_nats_connections';

describe.skipIf(HAS_NO_NATS)(
  'the metrics of a cluster (needs nats-server)',
  { timeout: TIMEOUT_MS },
  () => {
    let cluster: TestCluster;

    beforeAll(async () => {
      cluster = await TestCluster.start({ METRICS_OPEN: 'on', LOOPS: '2' });
    }, TIMEOUT_MS);
    afterAll(async () => await cluster.end(), TIMEOUT_MS);

    async function scrape(node: TestServer | undefined): Promise<Scrape> {
      return new Scrape(await (await fetch(`${node?.http}/metrics`)).text());
    }

    test('tell where the replica is, and how writes have ended on all loops', async () => {
      const [node] = cluster.nodes;
      // The connections of one interface are those of both loops.
      const nodes = cluster.nodes.slice(0, 1);
      const clients = [...clientsOf(nodes), ...clientsOf(nodes)].map(({ v1 }) => v1);
      for (const client of clients) await client.upsert(NEW);
      await expect(clients[0]?.deleteAll(99)).rejects.toThrow('99');
      expect((await scrape(node)).since(await scrape(cluster.nodes[1]), WRITES)).toEqual({
        '{outcome=acknowledged}': 4,
        '{outcome=refused}': 1,
      });
      for (const each of cluster.nodes) {
        await expect.poll(async () => (await scrape(each)).value(LAST, SHARD), PATIENCE).toBe(5);
        const found = await scrape(each);
        expect(found.value('vectord_cluster_applied_sequence', SHARD)).toBe(5);
        expect(found.value('vectord_cluster_stream_bytes', SHARD)).toBeGreaterThan(0);
        expect(found.value('vectord_cluster_stream_limit_bytes', SHARD)).toBe(1024 ** 3);
        expect(found.value(CONNECTIONS)).toBe(3);
        const state = (name: string) =>
          found.value('vectord_cluster_replica_state', { ...SHARD, state: name });
        expect(['following', 'behind', 'stopped'].map(state)).toEqual([1, 0, 0]);
      }
    });

    test('tell of writes whose end is not known', async () => {
      const [client] = clientsOf(cluster.nodes).map(({ v1 }) => v1);
      const before = await scrape(cluster.nodes[0]);
      await Promise.all([cluster.nodes[1]?.kill(), cluster.nodes[2]?.kill()]);
      const once = { deadlineMs: 40_000, retries: { attempts: 1 } };
      await expect(client?.upsert(NEW, once)).rejects.toThrow('is not known');
      const after = await scrape(cluster.nodes[0]);
      expect(after.since(before, WRITES)).toEqual({ '{outcome=unknown}': 1 });
      await Promise.all([cluster.run(1), cluster.run(2)]);
    });

    test('tell of a NATS server that is silent, while writes go on', async () => {
      const [node] = cluster.nodes;
      const servers = async () => {
        const found = await scrape(node);
        const count = (state: string) => found.value(SERVERS, { ...SHARD, state });
        const [leader, current] = ['leader', 'current'].map(count);
        return { leader, current, lost: ['behind', 'silent', 'away'].map(count) };
      };
      const well = { leader: 1, current: 2, lost: [0, 0, 0] };
      await expect.poll(servers, PATIENCE).toEqual(well);
      // Its connections are there, as those of one whose JetStream is off.
      await cluster.servers.suspend(2);
      await expect.poll(servers, PATIENCE).toEqual({ leader: 1, current: 1, lost: [0, 1, 0] });
      expect((await cluster.status()).stdout).toMatch(/^the NATS server n2 is silent, and/m);
      cluster.servers.resume(2);
      await expect.poll(servers, PATIENCE).toEqual(well);
    });

    test('tell that NATS is away, and nothing of the stream then', async () => {
      await Promise.all([0, 1, 2].map(async (server) => await cluster.servers.kill(server)));
      const [node] = cluster.nodes;
      await expect.poll(async () => (await scrape(node)).value(CONNECTIONS), PATIENCE).toBe(0);
      const known = async () =>
        (await scrape(node)).samples.filter(({ name }) => name === LAST || name === SERVERS);
      await expect.poll(known, PATIENCE).toEqual([]);
      const isBehind = async () =>
        (await scrape(node)).value('vectord_cluster_replica_state', { ...SHARD, state: 'behind' });
      await expect.poll(isBehind, PATIENCE).toBe(1);
      expect((await scrape(node)).value('vectord_cluster_applied_sequence', SHARD)).toBe(6);
      for (const server of [0, 1, 2]) cluster.servers.run(server);
      await expect.poll(known, PATIENCE).toHaveLength(1 + 5);
    });
  },
);
