import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Client } from '../../src/client/interface.js';
import { openClients, type VectorClient } from '../support/clients.js';
import { HAS_NO_NATS, TestCluster } from '../support/cluster.js';
import type { TestServer } from '../support/server.js';

const TIMEOUT_MS = 90_000;
const PATIENCE = { timeout: 30_000, interval: 100 };

const POINT = { vector: [1, 2, 3, 4], contentType: 'Text', content: 'as sent' } as const;
const NEW = [{ vector: [5, 5, 5, 5], content: 'new' }];

/** Clients of both interfaces of each node. */
function clientsOf(nodes: readonly TestServer[]): VectorClient[] {
  const clients = nodes.flatMap((node) => openClients(node));
  onTestFinished(() => clients.forEach((client) => client.close()));
  return clients;
}

async function readinessOf({ http }: TestServer): Promise<string> {
  const response = await fetch(`${http}/ready`);
  return await response.text();
}

describe.skipIf(HAS_NO_NATS)('a cluster (needs nats-server)', { timeout: TIMEOUT_MS }, () => {
  let cluster: TestCluster;

  beforeAll(async () => {
    cluster = await TestCluster.start();
  }, TIMEOUT_MS);
  afterAll(async () => await cluster.end(), TIMEOUT_MS);

  test('what one node has acknowledged, each reads at once over both interfaces', async () => {
    const clients = clientsOf(cluster.nodes);
    for (const [at, writer] of clients.entries()) {
      const vector = [at + 1, 0, 0, 1];
      const query = { vector, similarity: 'Euclidean', limit: 1 } as const;
      const id = await writer.insert({ ...POINT, vector });
      const [other = ''] = await writer.insertBatch([{ ...POINT, content: `by ${at}` }]);
      for (const reader of clients) {
        expect(await reader.get(id)).toEqual({ id, ...POINT, vector });
        expect((await reader.get(other)).content).toBe(`by ${at}`);
        expect(await reader.search(query)).toEqual([id]);
        expect(await reader.searchBatch([query, query])).toEqual([[id], [id]]);
      }
      await writer.delete(id);
      for (const reader of clients) {
        await expect(reader.get(id)).rejects.toThrow('Point not found');
        expect(await reader.search(query)).not.toEqual([id]);
      }
    }
  });

  test('the outcome of each write of /v1 is that of a single server', async () => {
    const clients = clientsOf(cluster.nodes).map(({ v1 }) => v1);
    // Each call goes through another node or interface than the one before.
    const next = (): Client => {
      const client = clients.shift() as Client;
      clients.push(client);
      return client;
    };
    await next().deleteAll(await next().count());
    const points = [0, 1, 2, 3].map((n) => ({
      id: randomUUID(),
      vector: [n, 1, 1, 1],
      metadata: { n },
    }));
    const [zero = '', one = ''] = points.map(({ id }) => id);
    const absent = randomUUID();
    expect(await next().upsert(points.slice(0, 2))).toMatchObject({ stored: 2, replaced: 0 });
    expect(await next().upsert(points)).toMatchObject({ stored: 2, replaced: 2, kept: 0 });
    expect(await next().upsert(points, { ifAbsent: true })).toMatchObject({ stored: 0, kept: 4 });
    const updates = [
      { id: zero, content: 'updated' },
      { id: absent, content: '' },
    ];
    expect(await next().update(updates)).toEqual({ updated: 1, missing: [absent] });
    const [updated] = (await next().get([zero])).points;
    expect(updated).toMatchObject({ content: 'updated', metadata: { n: 0 } });
    expect(await next().delete([one, absent])).toEqual({ deleted: 1, missing: [absent] });
    expect(await next().count({ filter: { n: { $gte: 3 } } })).toBe(1);
    expect(await next().deleteMatching({ n: { $gte: 3 } })).toMatchObject({ deleted: 1 });
    await expect(next().deleteAll(5)).rejects.toThrow('there are 2 points, expected 5');
    expect(await next().deleteAll(2)).toMatchObject({ deleted: 2 });
    expect(await next().count()).toBe(0);
  });

  test('a value that is no number is refused before it is written', async () => {
    for (const { v1 } of clientsOf(cluster.nodes)) {
      const bad = v1.upsert([{ vector: [1, 2, 3, 4] }, { vector: [1, 2, Infinity, 4] }]);
      await expect(bad).rejects.toThrow(/points\[1\]/);
    }
  });

  test('a batch that is larger than a message of NATS is stored whole', async () => {
    const [writer, , reader] = clientsOf(cluster.nodes).map(({ v1 }) => v1);
    const content = 'x'.repeat(100_000);
    const batch = Array.from({ length: 50 }, (_, n) => ({ vector: [n, 0, 0, 7], content }));
    const before = (await reader?.count()) ?? 0;
    const { ids } = (await writer?.upsert(batch)) ?? { ids: [] };
    expect(await reader?.count()).toBe(before + 50);
    const { points } = (await reader?.get(ids)) ?? { points: [] };
    expect(points.every((point) => point.content === content)).toBe(true);
  });

  test('writes and reads go on while a node is away, which catches up once it is back', async () => {
    const [first, , second, , third] = clientsOf(cluster.nodes).map(({ v1 }) => v1);
    const before = (await first?.count()) ?? 0;
    await cluster.nodes[2]?.kill();
    await first?.upsert(NEW);
    const { ids } = (await second?.upsert(NEW)) ?? { ids: [] };
    expect(await first?.count()).toBe(before + 2);
    await first?.delete(ids);
    await cluster.run(2);
    expect(await third?.count()).toBe(before + 1);
    expect((await third?.get(ids))?.missing).toEqual(ids);
  });

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
      await expect.poll(async () => await readinessOf(node), PATIENCE).toContain('no NATS server');
    }
    await expect(client?.upsert(NEW, once)).rejects.toThrow('nothing was written');
    for (const server of [0, 1, 2]) cluster.servers.run(server);
    for (const node of cluster.nodes) {
      await expect.poll(async () => await readinessOf(node), PATIENCE).toBe('ready');
    }
    await client?.upsert(NEW, { deadlineMs: 30_000 });
  });
});
