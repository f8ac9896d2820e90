import { expect } from 'vitest';
import { SIMILARITIES, type VectorClient, type TestPoint } from '../support/clients.js';
import { forEachParallel } from '../support/parallel.js';
import { DIMENSION } from './load.js';
import type { Ledger } from './ledger.js';

const MORE_THAN_ALL = 1_000_000;
const QUERIES_AT_ONCE = 250;

/** So many points are searched for by their vectors; a search for all finds all. */
const SEARCHED_FOR = 2_000;

/** Deleted points are looked for by a search for all; this many of them by their ids as well. */
const DELETED_BY_ID = 200;

/** Holds everything that is to be seen, on both interfaces, against the ledger. */
export async function expectLedger(
  clients: readonly VectorClient[],
  ledger: Ledger,
): Promise<void> {
  const found = await readAll(clients);
  expect(ledger.settle(found).join('\n')).toBe('');
  await expectFoundBySearch(clients, found);
  const deleted = [...ledger.deleted];
  const step = Math.ceil(deleted.length / DELETED_BY_ID);
  const some = deleted.filter((_, index) => index % step === 0);
  await forEachParallel([...some, ...deleted.slice(-DELETED_BY_ID)], 16, async (id, index) => {
    const client = clients[index % clients.length];
    await expect(client?.get(id), `${id}, which was deleted`).rejects.toThrow('Point not found');
  });
}

/** Every point that a search for all of them gives, each read by its id. */
export async function readAll(clients: readonly VectorClient[]): Promise<Map<string, TestPoint>> {
  const vector = Array.from({ length: DIMENSION }, () => 0);
  const [ids = [], ...others] = await Promise.all(
    clients.map((client) =>
      client.search({ vector, similarity: 'Euclidean', limit: MORE_THAN_ALL }),
    ),
  );
  for (const other of others) expect(other).toEqual(ids);
  const found = new Map<string, TestPoint>();
  await forEachParallel(ids, 16, async (id, index) => {
    const point = await clients[index % clients.length]?.get(id);
    if (point !== undefined) found.set(id, point);
  });
  expect(found.size).toBe(ids.length);
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
