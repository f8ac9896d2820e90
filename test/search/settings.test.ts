import { afterEach, describe, expect, test } from 'vitest';
import { openClients, type VectorClient, type TestQuery } from '../support/clients.js';
import { forEachParallel } from '../support/parallel.js';
import { startServer, type TestServer } from '../support/server.js';

const QUERY: TestQuery = { vector: [1, 2, 3, 4], similarity: 'Euclidean', limit: 1 };

let server: TestServer;
let clients: readonly [VectorClient, VectorClient];

async function start(env: Record<string, string>): Promise<void> {
  server = await startServer({ env });
  clients = openClients(server);
}

afterEach(async () => {
  for (const client of clients) client.close();
  expect(await server.stop()).toBe(0);
});

describe('the breadth of a search that names no ef', () => {
  // A batch that asks for too much is told how much that is.
  test.each([
    ['is HNSW_EF', { HNSW_EF: '600' }, 600],
    ['is 100 where HNSW_EF is not set', {}, 100],
  ])('%s', async (_, env, breadth) => {
    await start({ ...env, MAX_SEARCH_WORK: '150' });
    for (const client of clients) {
      for (const ef of [undefined, 0]) {
        const query = ef === undefined ? QUERY : { ...QUERY, ef };
        await expect(client.searchBatch([query, query])).rejects.toThrow(
          `queries ask for ${2 * breadth} candidates`,
        );
      }
      const narrow = { ...QUERY, ef: 5 };
      expect(await client.searchBatch([narrow, narrow])).toEqual([[], []]);
    }
  });
});

test('a client may ask as often as it likes: there is no rate limit', async () => {
  await start({});
  const [, grpc] = clients;
  const id = await grpc.insert({ vector: [1, 2, 3, 4], contentType: 'Image', content: '' });
  await forEachParallel(Array.from({ length: 500 }), 30, async (_, index) => {
    const client = clients[index % 2] ?? grpc;
    expect(await client.search(QUERY)).toEqual([id]);
  });
});
