import type { Config } from '../config/config.js';
import type { Engine } from '../engine/native.js';
import type { Logger } from '../observe/logger.js';
import { Follower } from './follower.js';
import { Gateway } from './gateway.js';
import { joinCluster } from './join.js';
import type { ClusterMap } from './map.js';
import { Nats } from './nats.js';
import { checkReplica, claimReplica, openNodeFolder, replicaFolder } from './node-folder.js';
import { NodeState, type NodeMemory } from './node-state.js';
import { Questions } from './questions.js';
import { Reads } from './reads.js';
import { ReplicatedPoints } from './replicated-points.js';
import { Reporter } from './reporter.js';
import { subjects } from './subjects.js';
import { Trim } from './trim.js';
import { Writes } from './writes.js';

/** So far a cluster has one shard, of which each node has a replica. */
const SHARD = 0;

/** What an event loop has to know of the cluster, in a form that another thread can be sent. */
export interface LoopPlace {
  /** The place of this node's replica in the list of the replicas of the shard. */
  readonly replica: number;
  readonly replicas: number;
  readonly memory: NodeMemory;
}

/** The side of a node that all its event loops share. */
export class ClusterNode {
  readonly #state = new NodeState();
  #reporter: Reporter | undefined;
  #follower: Follower | undefined;
  #trim: Trim | undefined;

  private constructor(
    private readonly nats: Nats,
    private readonly config: Config,
    private readonly map: ClusterMap,
    private readonly node: string,
    private readonly dataPath: string,
    /** The data folder of the replica. */
    readonly folder: string,
    private readonly logger: Logger,
  ) {}

  /** Enters the cluster. Resolves once all its nodes have; rejects with a StartError. */
  static async open(config: Config, dataPath: string, logger: Logger): Promise<ClusterNode> {
    const { clusterName } = config;
    const node = openNodeFolder(dataPath, clusterName);
    const nats = await Nats.connect(config);
    try {
      if (nats.versionFault !== undefined) logger.warn(nats.versionFault);
      const map = await joinCluster(nats, config, node, logger);
      const folder = replicaFolder(dataPath, SHARD);
      return new ClusterNode(nats, config, map, node, dataPath, folder, logger);
    } catch (error) {
      await nats.close();
      throw error;
    }
  }

  get dimension(): number {
    return this.map.dimension;
  }

  get place(): LoopPlace {
    const nodes = this.map.shards[SHARD]?.nodes ?? [];
    const { memory } = this.#state;
    return { replica: nodes.indexOf(this.node), replicas: nodes.length, memory };
  }

  /** Keeps the replica up with its stream from now on. */
  follow(engine: Engine): void {
    checkReplica(this.dataPath, this.folder, engine.storeId);
    const claim = (): void => claimReplica(this.dataPath, engine.storeId);
    const { clusterName } = this.config;
    const { nats, folder, logger } = this;
    const { replica, replicas } = this.place;
    const stream = subjects.stream(clusterName, SHARD);
    this.#reporter = new Reporter(nats, engine, clusterName, SHARD, replica, this.#state, folder);
    this.#follower = new Follower(
      nats,
      engine,
      stream,
      this.map.shards[SHARD]?.streamCreated,
      this.#reporter,
      this.#state,
      logger,
      claim,
    );
    const gateway = new Gateway(nats, clusterName, SHARD, logger);
    const others = new Questions(gateway, replicas - 1, replica);
    this.#trim = new Trim(nats, engine, stream, others, logger);
  }

  /** Follows no more. The engine is closed next: what it still has may wait in it. */
  stop(): void {
    this.#trim?.close();
    this.#follower?.stop();
  }

  async close(): Promise<void> {
    this.stop();
    await this.#follower?.ended();
    this.#reporter?.close();
    await this.nats.close();
  }
}

/** The points of the cluster, as one event loop has them. */
export class ClusterPoints {
  private constructor(
    readonly points: ReplicatedPoints,
    private readonly writes: Writes,
    private readonly nats: Nats,
  ) {}

  static async open(
    config: Config,
    { replica, replicas, memory }: LoopPlace,
    engine: Engine,
    logger: Logger,
  ): Promise<ClusterPoints> {
    const { clusterName, clusterReads } = config;
    const nats = await Nats.connect(config);
    const state = new NodeState(memory);
    const gateway = new Gateway(nats, clusterName, SHARD, logger);
    const log = subjects.log(clusterName, SHARD);
    const writes = new Writes(nats, gateway, log, replicas, state);
    const questions = new Questions(gateway, Math.floor(replicas / 2), replica);
    const reads = new Reads(engine, questions, state, clusterReads);
    const points = new ReplicatedPoints(engine, writes, reads, nats, state);
    return new ClusterPoints(points, writes, nats);
  }

  async close(): Promise<void> {
    this.writes.close();
    await this.nats.close();
  }
}
