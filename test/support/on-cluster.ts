import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { shardOf } from '../../src/cluster/shards/slots.js';
import { makeTemporaryFolder } from './folders.js';
import { Servers } from './nats-servers.mjs';
import { findNatsServer } from './tools.mjs';
import { Vectord } from './vectord.js';

/**
 * Each server that a test starts is the first node of a cluster of its own with so many shards, of one
 * node each; 0 where it is no cluster. What a single server promises must hold there, too.
 */
const SHARDS = Number(process.env['VECTORD_CLUSTER'] ?? '0');
export const ON_CLUSTER = SHARDS > 0;

let servers: Promise<Servers> | undefined;
const names = new Map<string, string>();
/** The folders of servers whose other nodes run. */
const accompanied = new Set<string>();
const others: Vectord[] = [];

afterAll(async () => {
  await Promise.all(others.map(async (node) => await node.stop()));
  await (await servers)?.end();
});

/** The settings of such a node. One that is started again on its folder finds its cluster there. */
export async function clusterSettings(dataPath: string): Promise<Record<string, string>> {
  if (!ON_CLUSTER) return {};
  servers ??= Servers.start(findNatsServer() ?? '', makeTemporaryFolder(), { count: 1 });
  const name = names.get(dataPath) ?? randomUUID().slice(0, 30);
  names.set(dataPath, name);
  const [address = ''] = (await servers).addresses;
  return {
    CLUSTER_URL: `nats://${address}`,
    CLUSTER_REPLICAS: '1',
    CLUSTER_SHARDS: String(SHARDS),
    CLUSTER_SHARD: '0',
    CLUSTER_NAME: name,
    CLUSTER_LOG_BYTES: String(1024 ** 3),
  };
}

/** Starts the other nodes of the cluster whose first node has these settings, once. */
export async function startOtherNodes(
  dataPath: string,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  if (accompanied.has(dataPath)) return;
  accompanied.add(dataPath);
  const shards = Array.from({ length: SHARDS - 1 }, (_, index) => String(index + 1));
  await Promise.all(
    shards.map(async (shard) => {
      const place = { CLUSTER_SHARD: shard, DATA_PATH: join(makeTemporaryFolder(), 'data') };
      others.push(await Vectord.start({ ...settings, HTTP_PORT: '0', GRPC_PORT: '0', ...place }));
    }),
  );
}

/** These ids in the order in which a scroll finds their points, which were written in this order. */
export function inScrollOrder(ids: readonly string[]): string[] {
  const shardOfId = (id: string): number =>
    shardOf(Buffer.from(id.replaceAll('-', ''), 'hex'), 0, Math.max(SHARDS, 1));
  return ids.toSorted((a, b) => shardOfId(a) - shardOfId(b));
}
