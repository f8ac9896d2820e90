import type { NodeReport } from '../../gen/vectord/cluster/v1/cluster.js';
import type { StreamServer } from '../nats/stream-servers.js';

/** The state of a cluster, as seen from outside. */
export interface ClusterStatus {
  readonly cluster: string;
  readonly dimension: number;
  /** How many replicas each shard has, of which not all may have started yet. */
  readonly replicas: number;
  readonly nats: NatsStatus;
  readonly shards: readonly ShardStatus[];
}

export interface ShardStatus {
  readonly shard: number;
  /** Undefined if it cannot be read. */
  readonly stream: StreamStatus | undefined;
  readonly nodes: readonly NodeStatus[];
}

/** The server that was asked. */
export interface NatsStatus {
  readonly server: string;
  readonly version: string;
  /** What is wrong with the version, if something is. */
  readonly versionFault: string | undefined;
}

export interface StreamStatus {
  readonly name: string;
  readonly created: string;
  /** Whether the map of the cluster says that it was made then. */
  readonly isOfMap: boolean;
  /** The servers that hold it. Without a leader most of them are away. */
  readonly servers: readonly StreamServer[];
  readonly messages: number;
  /** Those that its leader lacks between the first and the last: nobody deletes any. */
  readonly lostMessages: number;
  readonly bytes: number;
  /** Its limit in NATS: CLUSTER_LOG_BYTES when the cluster was made, or what was set since. */
  readonly limitBytes: number;
  readonly firstSequence: number;
  readonly lastSequence: number;
}

/** A node, and its replica. */
export interface NodeStatus {
  readonly node: string;
  /** Its place in the list of the replicas of the shard. */
  readonly replica: number;
  /** Where its replica is; undefined where that does not answer, as while the node starts. */
  readonly answer: ReplicaAnswer | undefined;
  /** What it tells of itself; undefined where it does not answer. */
  readonly report: NodeReport | undefined;
}

export interface ReplicaAnswer {
  /** The last message that it has applied. */
  readonly sequence: number;
  /** How many messages of the stream it has not applied, two seconds after it was asked. */
  readonly lacks: number;
  readonly history: History;
  /** Whether its disk has hardly any space left. */
  readonly isFull: boolean;
  /** Whether the writes through it are refused, as its clock is wrong. */
  readonly isClockOff: boolean;
  /** How many messages of the stream it has passed over since its start, as they are of no node. */
  readonly strays: number;
}

/** Whether most of the others have the same messages; unknown if none remembers them. */
export type History = 'same' | 'other' | 'unknown';
