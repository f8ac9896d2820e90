import { randomUUID } from 'node:crypto';
import { afterAll } from 'vitest';
import { makeTemporaryFolder } from './folders.js';
import { Servers } from './nats-servers.mjs';
import { findNatsServer } from './tools.mjs';

/**
 * Whether each server that a test starts is the one node of a cluster of its own. What a single server
 * promises must hold there, too.
 */
export const ON_CLUSTER = process.env['VECTORD_CLUSTER'] === '1';

let servers: Promise<Servers> | undefined;
const names = new Map<string, string>();

afterAll(async () => await (await servers)?.end());

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
    CLUSTER_NAME: name,
    CLUSTER_LOG_BYTES: String(1024 ** 3),
  };
}
