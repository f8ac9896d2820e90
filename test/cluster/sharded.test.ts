import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../src/client/interface.js';
import { clientsOf, HAS_NO_NATS, TestCluster } from '../support/cluster.js';
import { SIMILARITIES, type VectorClient } from '../support/clients.js';
import { countPoints } from '../support/count-points.js';

const TIMEOUT_MS = 120_000;

const POINT = { vector: [1, 2, 3, 4], contentType: 'Text', content: 'as sent' } as const;

/** Points with ids of ours, which are in both shards. */
function known(count: number) {
  return Array.from({ length: count }, (_, n) => ({
    id: randomUUID(),
    vector: [n, n % 7, n % 5, 1],
    content: `content ${n}`,
    metadata: { n },
  }));
}

/** Each call of the function answers another one than the call before. */
function inTurn<Item>(items: readonly Item[]): () => Item {
  let calls = 0;
  return () => items[calls++ % items.length] as Item;
}

async function empty(client: Client): Promise<void> {
  await client.deleteAll(await client.count());
}

describe.skipIf(HAS_NO_NATS)('two shards of a node each (needs nats-server)', () => {
  let cluster: TestCluster;
  let clients: VectorClient[];
  let next: () => Client;

  beforeAll(async () => {
    // What one loop knows of a shard, another does not.
    cluster = await TestCluster.start({ LOOPS: '1' }, { shards: 2, nodes: 1, servers: 1 });
  }, TIMEOUT_MS);
  afterAll(async () => await cluster.end(), TIMEOUT_MS);

  const open = (): void => {
    clients = clientsOf(cluster.nodes);
    next = inTurn(clients.map(({ v1 }) => v1));
  };

  test('what one node has acknowledged, each reads at once over both interfaces', async () => {
    open();
    for (const [at, writer] of clients.entries()) {
      for (let round = 0; round < 4; round += 1) {
        const vector = [at + 1, round, 0, 1];
        const query = { vector, similarity: 'Euclidean', limit: 1 } as const;
        const id = await writer.insert({ ...POINT, vector });
        for (const reader of clients) {
          expect(await reader.get(id)).toEqual({ id, ...POINT, vector });
          expect(await reader.search(query)).toEqual([id]);
          expect(await reader.searchBatch([query, query])).toEqual([[id], [id]]);
        }
        await writer.delete(id);
        for (const reader of clients) {
          await expect(reader.get(id)).rejects.toThrow('Point not found');
          expect(await reader.search(query)).not.toEqual([id]);
        }
      }
    }
  });

  test('a batch without ids is in one shard, and batches take turns', async () => {
    open();
    await empty(next());
    const counts = async () => await Promise.all(cluster.nodes.map(countPoints));
    const batch = Array.from({ length: 20 }, () => POINT);
    const seen = new Set<string>();
    for (let at = 0; at < 6; at += 1) {
      const ids = await clients[0]?.insertBatch(batch);
      const points = (await next().get(ids ?? [])).points;
      expect(points.map(({ id }) => id)).toEqual(ids);
      const found = await counts();
      expect(found.map((count) => count % 20)).toEqual([0, 0]);
      seen.add(found.join());
    }
    expect(seen.size).toBe(6);
    expect((await counts()).every((count) => count > 0)).toBe(true);
    expect(await next().count()).toBe(120);
  });

  test('the nearest points of both shards are found, whatever is asked besides', async () => {
    open();
    await empty(next());
    const points = known(300);
    expect(await next().upsert(points)).toMatchObject({ stored: 300 });
    expect((await Promise.all(cluster.nodes.map(countPoints))).every((count) => count > 90)).toBe(
      true,
    );
    const vector = [150.25, 3, 2, 1];
    const far = ({ vector: other }: (typeof points)[0]): number =>
      Math.hypot(...other.map((value, at) => value - (vector[at] ?? 0)));
    const byDistance = points.toSorted((a, b) => far(a) - far(b));
    for (const client of clients) {
      expect(await client.search({ vector, similarity: 'Euclidean', limit: 40 })).toEqual(
        byDistance.slice(0, 40).map(({ id }) => id),
      );
      const filter = { n: { $lt: 100 } };
      const found = await client.v1.search({
        vector,
        similarity: 'Euclidean',
        limit: 5,
        filter,
        include: ['metadata', 'distance'],
      });
      const expected = byDistance.filter(({ metadata: { n } }) => n < 100).slice(0, 5);
      expect(found.map(({ id, metadata }) => [id, metadata])).toEqual(
        expected.map(({ id, metadata }) => [id, metadata]),
      );
      for (const similarity of SIMILARITIES) {
        expect(await client.search({ vector, similarity, limit: 500 })).toHaveLength(300);
      }
    }
    expect(await next().count({ filter: { n: { $gte: 250 } } })).toBe(50);
    expect(await next().deleteMatching({ n: { $gte: 250 } })).toMatchObject({ deleted: 50 });
    const gone = points.slice(250, 252).map(({ id }) => id);
    const kept = points.slice(0, 2).map(({ id }) => id);
    expect(await next().delete([...gone, ...kept])).toEqual({ deleted: 2, missing: gone });
    expect(await next().count()).toBe(248);
  });

  test('the pages of a scroll may be asked of any node', async () => {
    open();
    await empty(next());
    const points = known(60);
    await next().upsert(points);
    for (const order of ['oldest', 'newest'] as const) {
      const seen: string[] = [];
      let after: string | undefined;
      do {
        const page = await next().scrollPage({ limit: 7, order, after, include: [] });
        seen.push(...page.points.map(({ id }) => id));
        after = page.next ?? undefined;
      } while (after !== undefined);
      expect(seen.toSorted()).toEqual(points.map(({ id }) => id).toSorted());
    }
    const token = (await next().scrollPage({ limit: 1, include: [] })).next ?? '';
    await expect(
      next().scrollPage({ limit: 1, after: token.slice(4), include: [] }),
    ).rejects.toThrow('after');
  });

  test(
    'what a shard without its node is needed for is refused, and says so',
    async () => {
      open();
      await empty(next());
      const points = known(40);
      await next().upsert(points);
      await cluster.node(1).kill();
      const [first] = clients.map(({ v1 }) => v1);
      const scattered = [
        first?.count(),
        first?.search({ vector: POINT.vector, similarity: 'Euclidean', limit: 1 }),
        first?.get(points.map(({ id }) => id)),
      ];
      const refused = async (call: (typeof scattered)[0]): Promise<void> =>
        await expect(call).rejects.toThrow(/shard 1: a replica does not answer/);
      await Promise.all(scattered.map(refused));
      // Of the other shard, those who look at it want to know all the same.
      expect(await first?.info()).toMatchObject({
        dimension: 4,
        points: expect.any(Number) as number,
      });
      const answers = await Promise.allSettled(
        points.map(async ({ id }) => await first?.get([id])),
      );
      const sound = answers.filter(({ status }) => status === 'fulfilled').length;
      expect(sound).toBe(await countPoints(cluster.node(0)));
      const replaced = points.map((point) => ({ ...point, content: 'new' }));
      await expect(first?.upsert(replaced)).rejects.toMatchObject({
        code: 'TIMEOUT',
        message: expect.stringMatching(/shard 0.*shard 1/s) as string,
      });
      const ofSecond = points.filter((_, at) => answers[at]?.status === 'rejected').slice(0, 1);
      await expect(first?.upsert(ofSecond)).rejects.toThrow(
        /^shard 1: whether the write is stored/,
      );
      // It knows by now: what any shard can take goes to the other.
      for (const _ of [1, 2]) {
        const ids = (await clients[0]?.insertBatch([POINT, POINT])) ?? [];
        expect((await first?.get(ids))?.points).toHaveLength(2);
        await first?.delete(ids);
      }
      await cluster.run(1);
      open();
      await next().upsert(replaced);
      expect(await next().count()).toBe(40);
    },
    TIMEOUT_MS,
  );
});

describe.skipIf(HAS_NO_NATS)('two shards of three nodes each (needs nats-server)', () => {
  test(
    'writes and reads of both go on while a node of each is away or says nothing',
    async () => {
      const cluster = await TestCluster.start({}, { shards: 2, nodes: 3 });
      try {
        const points = known(100);
        const [, , , , , , , , other] = clientsOf(cluster.nodes).map(({ v1 }) => v1);
        await other?.upsert(points);
        await cluster.node(0).kill();
        process.kill(cluster.node(3).pid, 'SIGSTOP');
        const left = [1, 2, 4, 5].map((at) => cluster.node(at));
        const [all] = [clientsOf(left).map(({ v1 }) => v1)];
        for (const [round, client] of all.entries()) {
          const { ids } = await client.upsert(known(4));
          for (const reader of all) {
            expect((await reader.get(ids)).points).toHaveLength(4);
            expect(await reader.count()).toBe(100 + 4 * (round + 1));
          }
        }
        process.kill(cluster.node(3).pid, 'SIGCONT');
        await cluster.run(0);
        for (const { v1 } of clientsOf(cluster.nodes)) {
          expect(await v1.count()).toBe(100 + 4 * all.length);
        }
      } finally {
        await cluster.end();
      }
    },
    TIMEOUT_MS,
  );
});
