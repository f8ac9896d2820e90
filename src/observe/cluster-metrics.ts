import type { Exposition, Samples } from './exposition.js';
import type { ClusterLoopStats } from './loop-stats.js';

const STATES = ['following', 'behind', 'stopped'] as const;

/** How a NATS server is that holds a stream. */
const SERVER_STATES = ['leader', 'current', 'behind', 'silent', 'away'] as const;
export type ServerState = (typeof SERVER_STATES)[number];

/** What a node of a cluster tells of its replica. */
export interface ClusterNodeStats {
  /** The shard that the replica is of. */
  readonly shard: number;
  /** The last message that it has applied. */
  readonly applied: number;
  readonly state: (typeof STATES)[number];
  /** Whether the connection by which it follows its stream is there. */
  readonly isConnected: boolean;
  /** Undefined where nobody tells. */
  readonly stream:
    | {
        readonly lastSequence: number;
        readonly bytes: number;
        readonly limitBytes: number;
        readonly servers: readonly { readonly state: ServerState }[];
      }
    | undefined;
}

export function writeCluster(
  to: Exposition,
  node: ClusterNodeStats,
  loops: ClusterLoopStats,
): void {
  const { applied, state: own, isConnected, stream } = node;
  // What is of the stream and its replica is told apart by it in sums over nodes.
  const shard = String(node.shard);
  const ofShard = (value: number | undefined): Samples =>
    // No sample, rather than one of before.
    value === undefined ? [] : [[{ shard }, value]];
  to.gauge(
    'vectord_cluster_applied_sequence',
    'Sequence of the last message of the stream that the replica has applied.',
    ofShard(applied),
  );
  to.gauge(
    'vectord_cluster_stream_last_sequence',
    'Sequence of the last message of the stream; none while NATS does not answer.',
    ofShard(stream?.lastSequence),
  );
  to.gauge(
    'vectord_cluster_stream_bytes',
    'What the stream keeps; none while NATS does not answer.',
    ofShard(stream?.bytes),
  );
  to.gauge(
    'vectord_cluster_stream_limit_bytes',
    'The most that it keeps (CLUSTER_LOG_BYTES); none while NATS does not answer.',
    ofShard(stream?.limitBytes),
  );
  const servers = stream?.servers;
  to.gauge(
    'vectord_cluster_nats_servers',
    'NATS servers that hold the stream, as its leader sees them; none while NATS does not answer.',
    servers === undefined
      ? []
      : SERVER_STATES.map((name) => {
          return [{ shard, state: name }, servers.filter(({ state }) => state === name).length];
        }),
  );
  to.gauge(
    'vectord_cluster_replica_state',
    'Whether the replica follows its stream, is behind it, or has stopped; the log says why.',
    STATES.map((name) => [{ shard, state: name }, Number(own === name)]),
  );
  to.gauge(
    'vectord_cluster_nats_connections',
    'Connections to NATS that are there, of one for each event loop and one more.',
    loops.connections + Number(isConnected),
  );
  to.counter(
    'vectord_cluster_writes_total',
    'Writes that have ended: refused are those that are certainly not stored.',
    Array.from(loops.writes, ([outcome, count]) => [{ outcome }, count]),
  );
}
