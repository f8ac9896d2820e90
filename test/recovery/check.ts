import { expect } from 'vitest';
import type { Filter, Metadata as PointMetadata } from '../../src/client/model.js';
import { SIMILARITIES, type VectorClient, type TestPoint } from '../support/clients.js';
import { passes } from '../support/filter-model.js';
import { forEachParallel } from '../support/parallel.js';
import { DIMENSION } from './load.js';
import type { Ledger } from './ledger.js';

const MORE_THAN_ALL = 1_000_000;
const QUERIES_AT_ONCE = 250;

/** So many points are searched for by their vectors; a search for all finds all. */
const SEARCHED_FOR = 2_000;

/** Deleted points are looked for by a search for all; this many of them by their ids as well. */
const DELETED_BY_ID = 200;

const FILTERS: readonly Filter[] = [
  { kind: 'größe' },
  { tags: { $ne: 'b' } },
  { rank: { $gte: 500 }, $content_type: 'Image' },
  { $or: [{ rank: { $lt: 100 } }, { group: { $exists: false } }] },
];

/** Holds everything that is to be seen, on both interfaces, against the ledger. */
export async function expectLedger(
  clients: readonly VectorClient[],
  ledger: Ledger,
): Promise<void> {
  const found = await readAll(clients);
  expect(ledger.settle(found).join('\n')).toBe('');
  await expectFoundBySearch(clients, found);
  await expectFiltered(clients, found);
  const deleted = [...ledger.deleted];
  const step = Math.ceil(deleted.length / DELETED_BY_ID);
  const some = deleted.filter((_, index) => index % step === 0);
  await forEachParallel([...some, ...deleted.slice(-DELETED_BY_ID)], 16, async (id, index) => {
    const client = clients[index % clients.length];
    await expect(client?.get(id), `${id}, which was deleted`).rejects.toThrow('Point not found');
  });
}

/** What finds all points. */
const ALL = {
  vector: Array.from({ length: DIMENSION }, () => 0),
  similarity: 'Euclidean',
  limit: MORE_THAN_ALL,
} as const;

/**
 * Every point that a search for all of them gives, in its order, each read by its id, and by
 * scrolling.
 */
export async function readAll(clients: readonly VectorClient[]): Promise<Map<string, TestPoint>> {
  const [ids = [], ...others] = await Promise.all(clients.map((client) => client.search(ALL)));
  for (const other of others) expect(other).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
  const [scrolled, again] = await Promise.all(clients.map(scrollAll));
  expect(again).toEqual(scrolled);
  expect(scrolled?.size).toBe(ids.length);
  await forEachParallel(ids, 16, async (id, index) => {
    const found = await clients[index % clients.length]?.get(id);
    expect({ ...found, metadata: scrolled?.get(id)?.metadata }).toEqual(scrolled?.get(id));
  });
  return new Map(ids.map((id) => [id, scrolled?.get(id) as TestPoint]));
}

async function scrollAll({ v1 }: VectorClient) {
  const found = new Map<string, TestPoint & { id: string; metadata: PointMetadata | null }>();
  const include = ['vector', 'content', 'contentType', 'metadata'] as const;
  for await (const point of v1.scroll({ include })) {
    const { id, vector = [], content = '', contentType = 'Text', metadata = null } = point;
    expect(found.has(id), `${id} comes twice`).toBe(false);
    found.set(id, { id, vector: [...vector], content, contentType, metadata });
  }
  return found;
}

/** The vectors are drawn at random, so the nearest point to each is its own. */
async function expectFoundBySearch(
  clients: readonly VectorClient[],
  points: ReadonlyMap<string, TestPoint>,
): Promise<void> {
  const step = Math.ceil(points.size / SEARCHED_FOR);
  const all = [...points].filter((_, index) => index % step === 0);
  const chunks = Array.from({ length: Math.ceil(all.length / QUERIES_AT_ONCE) }, (_, index) =>
    all.slice(index * QUERIES_AT_ONCE, (index + 1) * QUERIES_AT_ONCE),
  );
  await forEachParallel(chunks, 2, async (chunk, index) => {
    const queries = chunk.map(([, { vector }], place) => ({
      vector,
      similarity: SIMILARITIES[place % 4] ?? 'Euclidean',
      limit: 1,
      ef: points.size,
    }));
    const results = await clients[index % clients.length]?.searchBatch(queries);
    expect(results).toEqual(chunk.map(([id]) => [id]));
  });
}

/** Counts and searches with a filter answer as a list of the points does, closest first. */
async function expectFiltered(
  clients: readonly VectorClient[],
  points: ReadonlyMap<string, TestPoint>,
): Promise<void> {
  await forEachParallel(FILTERS, 2, async (filter) => {
    const isPassing = ([id, point]: [string, TestPoint]): boolean =>
      passes(filter, { id, ...point });
    const expected = [...points].filter(isPassing).map(([id]) => id);
    for (const { v1 } of clients) {
      expect(await v1.count({ filter })).toBe(expected.length);
      const found = await v1.search({ ...ALL, filter, include: [] });
      expect(found.map(({ id }) => id)).toEqual(expected);
    }
  });
}
