import { randomUUID } from 'node:crypto';
import { connect, type Msg } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Client } from '../../src/client/interface.js';
import { Packet, ReadQuestion } from '../../src/gen/vectord/cluster/v1/cluster.js';
import type { VectorClient } from '../support/clients.js';
import { clientsOf, HAS_NO_NATS, TestCluster } from '../support/cluster.js';

const TIMEOUT_MS = 90_000;

const POINT = { vector: [1, 2, 3, 4], contentType: 'Text', content: 'as sent' } as const;
const NEW = [{ vector: [5, 5, 5, 5], content: 'new' }];

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

  test('each replica finds the points of a delete by filter before its message comes', async () => {
    const [{ v1 }] = clientsOf(cluster.nodes) as [VectorClient];
    await v1.upsert([3, 4, 4].map((n) => ({ vector: [n, 1, 1, 1], metadata: { n } })));
    const connection = await connect({ servers: [...cluster.servers.addresses] });
    onTestFinished(async () => await connection.close());
    const asked: string[] = [];
    const hear = (error: unknown, { subject, data }: Msg): void => {
      const { whole = new Uint8Array() } = error === null ? Packet.decode(data) : {};
      const { count } = ReadQuestion.decode(whole);
      if (count?.toDelete === true) asked.push(`${subject.split('.').at(-1)} ${count.filter}`);
    };
    connection.subscribe('*.*.reads.*', { callback: hear });
    await connection.flush();
    expect(await v1.deleteMatching({ n: 4 })).toMatchObject({ deleted: 2 });
    // The replica of the node itself is not asked over NATS.
    const others = [0, 1, 2].map((replica) => `${replica} {"n":4}`);
    await expect.poll(() => asked.length).toBe(2);
    expect(others).toEqual(expect.arrayContaining(asked));
    expect(new Set(asked).size).toBe(2);
    expect(await v1.count({ filter: { n: { $gte: 3 } } })).toBe(1);
  });

  test('of 200 deletes by filter at once none is refused for the others', async () => {
    const clients = clientsOf(cluster.nodes).map(({ v1 }) => v1) as [Client, ...Client[]];
    const numbers = Array.from({ length: 200 }, (_, at) => 1_000 + at);
    await clients[0].upsert(numbers.map((n) => ({ vector: [n, 1, 1, 1], metadata: { n } })));
    const deletes = numbers.map((n, at) => {
      const client = clients[at % clients.length] ?? clients[0];
      return client.deleteMatching({ n });
    });
    expect(await Promise.all(deletes)).toEqual(numbers.map(() => ({ deleted: 1, missing: [] })));
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

  test('a node whose reads are of a session reads what it has acknowledged, also without a majority', async () => {
    await cluster.nodes[0]?.stop();
    await cluster.run(0, { CLUSTER_READS: 'session' });
    const clients = clientsOf(cluster.nodes.slice(0, 1)).map(({ v1 }) => v1);
    for (let round = 0; round < 10; round += 1) {
      for (const [at, client] of clients.entries()) {
        const { ids } = await client.upsert(NEW);
        // Over the other interface, on whichever event loop.
        expect((await clients[1 - at]?.get(ids))?.points).toHaveLength(1);
        await client.delete(ids);
        expect((await clients[1 - at]?.get(ids))?.missing).toEqual(ids);
      }
    }
    const count = await clients[0]?.count();
    await Promise.all([cluster.nodes[1]?.kill(), cluster.nodes[2]?.kill()]);
    expect(await clients[0]?.count()).toBe(count);
    await Promise.all([cluster.run(1), cluster.run(2)]);
  });
});
