import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  openClients,
  SIMILARITIES,
  type VectorClient,
  type SimilarityName,
} from '../support/clients.js';
import { Random } from '../support/random.js';
import { isNear, rankAll } from '../support/reference.js';
import { startServer, type TestServer } from '../support/server.js';
import { textPoint } from './points.js';

const COUNT = 600;

const random = new Random(4);

describe.each([
  ['1', 1],
  ['2', 2],
  ['17', 17],
  ['4,096', 4096],
])('in %s dimensions', (_, dimension) => {
  let server: TestServer;
  let clients: readonly [VectorClient, VectorClient];
  let ids: readonly string[];
  const count = dimension > 1000 ? 60 : COUNT;
  const whole = Array.from({ length: count }, () => random.wholeVector(dimension, -3, 3));
  const real = Array.from({ length: count }, () => random.vector(dimension));
  const vectors = [...whole, ...real];

  beforeAll(async () => {
    server = await startServer({ dimension });
    clients = openClients(server);
    const [http, grpc] = clients;
    ids = [
      ...(await http.insertBatch(whole.map(textPoint))),
      ...(await grpc.insertBatch(real.map(textPoint))),
    ];
  });

  afterAll(async () => {
    for (const client of clients) client.close();
  });

  /** What both interfaces answer, as places in `vectors`. */
  async function search(
    vector: readonly number[],
    similarity: SimilarityName,
    limit: number,
  ): Promise<number[]> {
    const query = { vector, similarity, limit };
    const [http, grpc] = await Promise.all(clients.map((client) => client.search(query)));
    expect(grpc).toEqual(http);
    return (http ?? []).map((id) => ids.indexOf(id));
  }

  test.each(SIMILARITIES)('%s finds what a look at every point finds', async (similarity) => {
    for (const limit of [1, 10, vectors.length, 10 * vectors.length]) {
      const query = random.vector(dimension);
      const found = await search(query, similarity, limit);
      const truth = rankAll(similarity, query, vectors);
      expect(new Set(found).size).toBe(Math.min(limit, vectors.length));
      const distances = new Map(truth.map((ranked) => [ranked.index, ranked.distance]));
      found.forEach((index, place) => {
        // The same distance at each place; where distances differ clearly, so the same point.
        const mine = distances.get(index) ?? Number.NaN;
        const right = truth[place]?.distance ?? Number.NaN;
        expect(isNear(mine, right), `place ${place}: ${mine}, not ${right}`).toBe(true);
      });
    }
  });

  // Sums of small whole numbers are exact, so ties are ties; angles are not.
  test.each(['Euclidean', 'Manhattan', 'Hamming'] as const)(
    '%s orders ties by insertion',
    async (similarity) => {
      const query = random.wholeVector(dimension, -3, 3);
      const found = await search(query, similarity, vectors.length);
      const places = found.filter((index) => index < whole.length);
      expect(places).toEqual(rankAll(similarity, query, whole).map(({ index }) => index));
    },
  );

  test('similarities asked in any order on the same points do not mix', async () => {
    const query = random.wholeVector(dimension, 1, 3);
    const first = new Map<SimilarityName, number[]>();
    for (const similarity of SIMILARITIES)
      first.set(similarity, await search(query, similarity, 9));
    for (let times = 0; times < 12; times += 1) {
      const similarity = random.pick(SIMILARITIES);
      expect(await search(query, similarity, 9)).toEqual(first.get(similarity));
    }
  });

  test('a batch of searches is answered like the single ones, in their order', async () => {
    const queries = Array.from({ length: 24 }, () => ({
      vector: random.vector(dimension),
      similarity: random.pick(SIMILARITIES),
      limit: 1 + random.below(20),
    }));
    const singles = await Promise.all(queries.map((query) => clients[0].search(query)));
    for (const client of clients) expect(await client.searchBatch(queries)).toEqual(singles);
  });
});
