import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { clientsOf, TestCluster } from '../../support/cluster.js';

/** A cluster, its start, an end and some seeds on a busy machine. */
export const TIMEOUT_MS = 90_000;
export const CLUSTER = 'seeds';
export const POINTS = 300;
export const CONTENT = 'what is written on the disk of each node';
/** What the log of a node says once it has the points of another. */
export const TAKEN = 'this node has the points of another node';

/** Three nodes that have some points, and a client of each. */
export async function openThreeNodes() {
  const cluster = await TestCluster.start({ CLUSTER_NAME: CLUSTER });
  onTestFinished(async () => await cluster.end(), TIMEOUT_MS);
  const clients = cluster.nodes
    .flatMap((node) => clientsOf([node]).slice(0, 1))
    .map(({ v1 }) => v1);
  const points = Array.from({ length: POINTS }, (_, at) => ({
    vector: [at, 1, 2, 3],
    content: `${CONTENT} ${at}`,
  }));
  await clients[0]?.upsert(points);
  const folders = cluster.nodes.map(({ dataPath }) => join(dataPath, 'shard-0'));
  return { cluster, clients, folders };
}

export type ThreeNodes = Awaited<ReturnType<typeof openThreeNodes>>;

/** Writes through each node are read through each node. */
export async function expectWhole({ clients }: ThreeNodes, points: number): Promise<void> {
  for (const [at, client] of clients.entries()) {
    await client.upsert([{ vector: [at, 9, 9, 9], content: 'later' }], { deadlineMs: 30_000 });
  }
  for (const client of clients) expect(await client.count()).toBe(points + clients.length);
}
