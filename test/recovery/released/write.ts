import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Client } from '../../../src/client/node.js';
import { id, open } from '../../client/open.js';
import { TestCluster } from '../../support/cluster.js';
import { startServer, type TestServer } from '../../support/server.js';
import { runCommand } from '../command.js';
import {
  DIMENSION,
  firstPoint,
  isDeleted,
  isReplaced,
  isUpdated,
  point,
  STORED,
} from './points.js';

const NUMBERS = Array.from({ length: STORED }, (_, number) => number);
const BATCH = 20;
const ENV = { DIMENSION: String(DIMENSION), WARM_METRICS: 'cosine', SEGMENT_BYTES: '65536' };
const FIELDS = ['year', 'kind', 'even', 'tags', '$content_type'];

/** Writes the folder of a single server, as the present version does: a backup, which is small. */
export async function writeServer(target: string): Promise<void> {
  const server = await startServer({ env: ENV });
  await fill(server);
  expect(await server.stop()).toBe(0);
  await backUp(server.dataPath, target);
}

/** Writes the folder of a node of a cluster in the same way. */
export async function writeNode(target: string): Promise<void> {
  const cluster = await TestCluster.start(ENV, { nodes: 1, servers: 1 });
  const { dataPath } = await fill(cluster.node(0));
  await cluster.end();
  await backUp(join(dataPath, 'shard-0'), join(target, 'shard-0'));
  cpSync(join(dataPath, 'node.json'), join(target, 'node.json'));
}

/** Stores points in every way, and has a graph and columns made, which the last snapshot holds. */
async function fill(server: TestServer): Promise<TestServer> {
  const client = open(server, 'grpc');
  for (let first = 0; first < STORED; first += BATCH) {
    await client.upsert(NUMBERS.slice(first, first + BATCH).map(firstPoint));
  }
  await client.upsert(
    NUMBERS.filter(isReplaced).map((number) => ({ id: id(number), ...point(number) })),
  );
  await client.update(
    NUMBERS.filter(isUpdated).map((number) => {
      const { content, metadata } = point(number);
      return { id: id(number), content, metadata };
    }),
  );
  await client.delete(NUMBERS.filter(isDeleted).map((number) => id(number)));
  for (const field of FIELDS) await client.count({ filter: { [field]: { $ne: 'Image' } } });
  const ready = Array(1 + FIELDS.length).fill('ready');
  await expect.poll(async () => await statesOf(client)).toEqual(ready);
  return server;
}

/** Of the graph, and of the columns. */
async function statesOf(client: Client): Promise<string[]> {
  const { graphs, filterIndex } = await client.info();
  return [...graphs, ...filterIndex].map(({ state }) => state);
}

async function backUp(dataPath: string, target: string): Promise<void> {
  const { code, stderr } = await runCommand(dataPath, 'backup', target);
  expect(code, stderr).toBe(0);
}
