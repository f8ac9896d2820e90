import type { Lost } from '../../gen/vectord/cluster/v1/cluster.js';

/** The names that a cluster has in NATS, by the name of the cluster and the number of a shard. */
export const subjects = {
  /** The stream of the shard, and the one subject that it keeps. */
  stream: (cluster: string, shard: number) => `${cluster}-${shard}`,
  log: (cluster: string, shard: number) => `${cluster}.${shard}.log`,
  /** What all replicas of the shard are asked, or one of them. */
  questions: (cluster: string, shard: number, replica?: number) =>
    replica === undefined
      ? `${cluster}.${shard}.questions`
      : `${cluster}.${shard}.questions.${replica}`,
  /** A node is asked here how it is, whatever its replica does. */
  node: (cluster: string, node: string) => `${cluster}.node.${node}`,
  /** Who needs a copy of the data folder of a replica asks here. */
  seeds: (cluster: string, shard: number, replica: number) =>
    `${cluster}.${shard}.seeds.${replica}`,
  /** Where a node says, to who asks, that a replica has lost so many logs, and that it has its place. */
  lost: (cluster: string, shard: number, { replica, incarnation }: Lost) =>
    `${cluster}.${shard}.lost.${replica}.${incarnation}`,
  /** Who has no replica of the shard, or one that cannot answer, asks another replica here. */
  reads: (cluster: string, shard: number, replica: number) =>
    `${cluster}.${shard}.reads.${replica}`,
  /** Where they fetch of each other what is too large for a message. */
  pieces: (cluster: string, from: string) => `${cluster}.pieces.${from}`,
  /** What one gateway is told. */
  gateway: (cluster: string, gateway: string) => `${cluster}.gateway.${gateway}`,
  /** The bucket of the map. */
  bucket: (cluster: string) => cluster,
};
