import type { MemoryBudget } from '../admission/memory-budget.js';
import type { Config } from '../config/config.js';
import type { Points } from '../core/points.js';
import type { Engine } from '../engine/native.js';
import type { Logger } from '../observe/logger.js';
import { addCounts, type ClusterLoopStats, type WriteEnd } from '../observe/loop-stats.js';
import { Gateway } from './voting/gateway.js';
import { Nats } from './nats/nats.js';
import { NodeState, type NodeMemory } from './voting/node-state.js';
import { OtherReplicas } from './reads/other-replicas.js';
import { Packets } from './nats/packets.js';
import { Questions } from './voting/questions.js';
import { majorityOf } from './voting/quorum.js';
import { ReadServer, refusalOf } from './reads/read-server.js';
import { LONGEST_BEFORE_OTHERS_MS, Reads } from './reads/reads.js';
import { RemoteReplica } from './reads/remote-replica.js';
import { ReplicatedPoints, type OwnReplica } from './replicated-points.js';
import { Session } from './reads/session.js';
import { ShardedPoints } from './shards/sharded-points.js';
import { subjects } from './nats/subjects.js';
import { Writes } from './writes.js';

/** What an event loop has to know of the cluster, in a form that another thread can be sent. */
export interface LoopPlace {
  /** The shard that this node has a replica of. */
  readonly shard: number;
  /** The place of this node's replica in the list of the replicas of the shard. */
  readonly replica: number;
  /** How many each shard has. */
  readonly replicas: number;
  /** How many logs this node's replica has lost. */
  readonly incarnation: number;
  /** What the loops of the node tell each other of each shard. */
  readonly memories: readonly NodeMemory[];
}

/** The points of the cluster, as one event loop has them. */
export class ClusterPoints {
  private constructor(
    readonly points: Points,
    private readonly writes: readonly Writes[],
    private readonly packets: Packets,
    private readonly nats: Nats,
  ) {}

  /** @param budget of the requests of all loops: what comes from other nodes and goes there counts, too */
  static async open(
    config: Config,
    place: LoopPlace,
    engine: Engine,
    budget: MemoryBudget,
    logger: Logger,
  ): Promise<ClusterPoints> {
    const nats = await Nats.connect(config);
    const packets = new Packets(nats, config.clusterName, budget);
    const parts = { config, place, engine, budget, logger, nats, packets };
    const shards = place.memories.map((memory, shard) => openShard(shard, memory, parts));
    const [first, ...others] = shards.map(({ points }) => points);
    const points =
      first !== undefined && others.length === 0
        ? first
        : new ShardedPoints(
            shards.map((shard) => shard.points),
            engine.dimension,
          );
    return new ClusterPoints(
      points,
      shards.map(({ writes }) => writes),
      packets,
      nats,
    );
  }

  /** For the metrics. */
  stats(): ClusterLoopStats {
    const writes = this.writes
      .map(({ ended }): ReadonlyMap<WriteEnd, number> => ended)
      .reduce(addCounts);
    return { connections: Number(this.nats.isConnected), writes };
  }

  /** Other nodes get what they have asked for, and ask elsewhere from now on. */
  async close(): Promise<void> {
    for (const writes of this.writes) writes.close();
    await this.packets.close();
    await this.nats.close();
  }
}

interface Parts {
  readonly config: Config;
  readonly place: LoopPlace;
  readonly engine: Engine;
  readonly budget: MemoryBudget;
  readonly logger: Logger;
  readonly nats: Nats;
  readonly packets: Packets;
}

/** The points of one shard, whose replicas this node or others have. */
function openShard(
  shard: number,
  memory: NodeMemory,
  { config, place, engine, budget, logger, nats, packets }: Parts,
): { points: ReplicatedPoints; writes: Writes } {
  const { clusterName: cluster, clusterReads } = config;
  const { replica, replicas } = place;
  const isOwn = shard === place.shard;
  const state = new NodeState(memory);
  const known = isOwn ? state.incarnations : undefined;
  const gateway = new Gateway(nats, cluster, shard, replicas, logger, known);
  const writes = new Writes(nats, gateway, subjects.log(cluster, shard), replicas, state);
  let own: OwnReplica | undefined;
  if (isOwn) {
    const others = majorityOf(replicas) - 1;
    const questions = new Questions(gateway, others, replica, place.incarnation);
    const patienceMs = replicas > 1 ? LONGEST_BEFORE_OTHERS_MS : undefined;
    const reads = new Reads(engine, questions, state, clusterReads, patienceMs);
    const server = new ReadServer(engine, reads, state, budget, logger);
    packets.serve(
      subjects.reads(cluster, shard, replica),
      async (question) => await server.answer(question),
      refusalOf,
    );
    own = { number: replica, reads };
  }
  // Where the replica of this node cannot answer, nothing is known of what it has acknowledged.
  const session = new Session(isOwn ? 'strong' : clusterReads, state.acknowledged);
  const others = Array.from({ length: replicas }, (_, number) => number)
    .filter((number) => !isOwn || number !== replica)
    .map((number) => {
      const subject = subjects.reads(cluster, shard, number);
      return [number, new RemoteReplica(packets, subject, session)] as const;
    });
  const points = new ReplicatedPoints(
    engine,
    own,
    new OtherReplicas(new Map(others)),
    writes,
    nats,
    state,
  );
  return { points, writes };
}
