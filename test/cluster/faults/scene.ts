import { randomUUID } from 'node:crypto';
import { connect, type Client } from '../../../src/client/node.js';
import type { TestCluster } from '../../support/cluster.js';
import type { Random } from '../../support/random.js';

export interface Scene {
  readonly cluster: TestCluster;
  readonly random: Random;
  /** For how long something is paused, cut off or full. */
  readonly pauseMs: number;
}

/** Does harm to a cluster, and resolves once it is undone. */
export type Fault = (scene: Scene) => Promise<void>;

export const SERVERS = [0, 1, 2];
/** Those of a shard. */
const REPLICAS = 3;

/** A call may come at a bad time: it is repeated, and its nodes and servers may elect and connect. */
export const PATIENT = { deadlineMs: 60_000, retries: { attempts: 20 } };

export function anyServer({ random }: Scene): number {
  return random.pick(SERVERS);
}

export function anyNode({ random, cluster }: Scene): number {
  return random.below(cluster.nodes.length);
}

/** The shard of a node. */
export function shardOf(index: number): number {
  return Math.floor(index / REPLICAS);
}

/** The node that is so many places behind another among those of its shard. */
export function otherReplica(index: number, behind: number): number {
  const place = index % REPLICAS;
  return index - place + ((place + behind) % REPLICAS);
}

/** A client of each node while something is done. */
export async function withClients(
  { cluster }: Scene,
  act: (clients: readonly Client[]) => Promise<void>,
): Promise<void> {
  const clients = cluster.nodes.map(({ http, keys }) => connect(http, { key: keys.readwrite }));
  try {
    await act(clients);
  } finally {
    for (const client of clients) client.close();
  }
}

/** Far from what the workload looks for. */
export function newPoint() {
  return { id: randomUUID(), vector: [-1, -1e6, 0, 0] };
}
