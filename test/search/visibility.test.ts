import { afterEach, beforeEach, expect, test } from 'vitest';
import { openClients, type VectorClient, type TestPoint } from '../support/clients.js';
import { forEachParallel } from '../support/parallel.js';
import { Random } from '../support/random.js';
import { startServer, type TestServer } from '../support/server.js';

const DIMENSION = 8;
const ALL = 1_000_000;
const LANES = 8;

const random = new Random(3);

let server: TestServer;
let clients: readonly [VectorClient, VectorClient];

beforeEach(async () => {
  server = await startServer({ dimension: DIMENSION });
  clients = openClients(server);
});

afterEach(async () => {
  for (const client of clients) client.close();
  await server.stop();
});

test('an answered insert is there at once for get and search of the other interface', async () => {
  await forEachParallel(randomPoints(100), LANES, async (point, index) => {
    const [writer, reader] = pair(index);
    const id = await writer.insert(point);
    const [results, found] = await Promise.all([
      reader.search({ vector: point.vector, similarity: 'Euclidean', limit: 1 }),
      reader.get(id),
    ]);
    expect(results).toEqual([id]);
    expect(found).toEqual({ id, ...point });
  });
});

test('an answered delete is gone at once for get and search of the other interface', async () => {
  const points = randomPoints(100);
  const ids = await clients[0].insertBatch(points);
  await forEachParallel(points, LANES, async ({ vector }, index) => {
    const [writer, reader] = pair(index);
    const id = ids[index] ?? '';
    await writer.delete(id);
    expect(await reader.search({ vector, similarity: 'Euclidean', limit: ALL })).not.toContain(id);
    await expect(reader.get(id)).rejects.toThrow('Point not found');
  });
  expect(await clients[1].search({ vector: zero(), similarity: 'Cosine', limit: 1 })).toEqual([]);
});

test('of two deletes of one point, on either interface, at most one finds it', async () => {
  const [, grpc] = clients;
  await forEachParallel(randomPoints(40), LANES, async (point) => {
    const id = await grpc.insert(point);
    const deletes = await Promise.allSettled([grpc.delete(id), grpc.delete(id), grpc.delete(id)]);
    expect(deletes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await expect(grpc.get(id)).rejects.toThrow('Point not found');
  });
});

test('a batch appears whole to searches that run meanwhile, and then stays', async () => {
  const batches: string[][] = [];
  const insertAll = forEachParallel(Array.from({ length: 60 }), 4, async (_, index) => {
    batches.push(await pair(index)[0].insertBatch(randomPoints(50)));
  });
  for (const searches of await searchDuring(insertAll)) {
    const before = new Set<string[]>();
    for (const ids of searches) {
      for (const batch of batches) {
        const there = batch.filter((id) => ids.has(id)).length;
        expect(there).toBeOneOf(before.has(batch) ? [50] : [0, 50]);
        if (there === 50) before.add(batch);
      }
    }
    expect(before.size).toBeGreaterThan(0);
  }
});

test('a search for all points misses none while others are deleted', async () => {
  const [http, grpc] = clients;
  const staying = await http.insertBatch(randomPoints(200));
  for (let times = 0; times < 10; times += 1) {
    const leaving = await grpc.insertBatch(randomPoints(200));
    const deleteAll = Promise.all(leaving.map((id, index) => pair(index)[0].delete(id)));
    for (const searches of await searchDuring(deleteAll)) {
      for (const ids of searches) expect(staying.filter((id) => !ids.has(id))).toEqual([]);
    }
  }
});

/**
 * What searches for all points find on each interface, one after the other, until something is
 * done and once more.
 */
async function searchDuring(work: Promise<unknown>): Promise<ReadonlySet<string>[][]> {
  const done = new AbortController();
  const seen = clients.map(async (client) => {
    const searches: ReadonlySet<string>[] = [];
    while (!done.signal.aborted) searches.push(await searchAll(client));
    return [...searches, await searchAll(client)];
  });
  await work.finally(() => done.abort());
  return await Promise.all(seen);
}

/** The interface that writes and the one that reads, in turn. */
function pair(index: number): readonly [VectorClient, VectorClient] {
  const [http, grpc] = clients;
  return index % 2 === 0 ? [http, grpc] : [grpc, http];
}

/** The query is drawn anew each time: every point may be the farthest. */
async function searchAll(client: VectorClient): Promise<Set<string>> {
  const vector = random.vector(DIMENSION);
  return new Set(await client.search({ vector, similarity: 'Manhattan', limit: ALL }));
}

function randomPoints(count: number): TestPoint[] {
  return Array.from({ length: count }, (_, index) => ({
    vector: random.vector(DIMENSION),
    contentType: 'Text',
    content: `point ${index}`,
  }));
}

function zero(): number[] {
  return Array.from({ length: DIMENSION }, () => 0);
}
