import { setTimeout as sleep } from 'node:timers/promises';
import { openClients, type TestQuery, type VectorClient } from './clients.js';
import { Random } from './random.js';
import { rankAll } from './reference.js';
import { startServer, type TestServer } from './server.js';

/**
 * Points of which a narrow walk misses most neighbours, and a wide one hardly any: values without
 * any structure, and a graph with few links. With other sets of the tests every breadth has a
 * recall of 1, and so has a scan: they cannot tell whether a graph is walked, nor how wide.
 */
const COUNT = 6_000;
const DIMENSION = 64;
const LIMIT = 10;
const FEW_LINKS = { HNSW_M: '8', HNSW_EF_CONSTRUCTION: '40', WARM_METRICS: 'euclidean' };

const random = new Random(21);
const vectors = Array.from({ length: COUNT }, () => random.vector(DIMENSION));
const queries = Array.from({ length: 50 }, () => random.vector(DIMENSION));

/** What is measured: 0.27 to 0.30 at a breadth of 10, 0.91 at 100, and 1 at 400. */
export const NARROW = { ef: 10, mostRecall: 0.5 } as const;
export const WIDE = { ef: 400, leastRecall: 0.95 } as const;

export type Answer = (queries: readonly TestQuery[]) => Promise<string[][]>;

/** How a client answers queries one by one, or all at once. */
export function oneByOne(client: VectorClient): Answer {
  return async (asked) => await Promise.all(asked.map((query) => client.search(query)));
}

export function inABatch(client: VectorClient): Answer {
  return async (asked) => await client.searchBatch(asked);
}

export class HardPoints {
  private constructor(
    readonly server: TestServer,
    readonly clients: readonly [VectorClient, VectorClient],
    private readonly truths: readonly ReadonlySet<string | undefined>[],
  ) {}

  /** Starts a service, stores the points, and waits until its graph holds all of them. */
  static async start(env: Readonly<Record<string, string>> = {}): Promise<HardPoints> {
    const server = await startServer({ dimension: DIMENSION, env: { ...FEW_LINKS, ...env } });
    const clients = openClients(server);
    const ids = await clients[1].insertBatch(
      vectors.map((vector) => ({ vector, contentType: 'Text', content: '' })),
    );
    while ((await linkedSlots(server)) < COUNT) await sleep(20);
    const truths = queries.map((query) => {
      const nearest = rankAll('Euclidean', query, vectors).slice(0, LIMIT);
      return new Set(nearest.map(({ index }) => ids[index]));
    });
    return new HardPoints(server, clients, truths);
  }

  /** What is found for each query; without an `ef`, with the breadth that the service has. */
  async search(answer: Answer, ef?: number, limit = LIMIT): Promise<string[][]> {
    const breadth = ef === undefined ? {} : { ef };
    return await answer(
      queries.map((vector) => ({ vector, similarity: 'Euclidean', limit, ...breadth })),
    );
  }

  /** The share of the true neighbours that is found. */
  async recall(answer: Answer, ef: number): Promise<number> {
    const found = await this.search(answer, ef);
    const right = this.truths.map((truth, at) => found[at]?.filter((id) => truth.has(id)).length);
    return right.reduce<number>((sum, count) => sum + (count ?? 0), 0) / (queries.length * LIMIT);
  }
}

async function linkedSlots(server: TestServer): Promise<number> {
  const headers = { 'api-key': server.keys.readonly };
  const text = await (await fetch(`${server.http}/metrics`, { headers })).text();
  return Number(/^vectord_graph_linked_slots\{.*\} (\d+)$/m.exec(text)?.[1] ?? 0);
}
