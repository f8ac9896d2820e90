import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.js';
import { syncFolder } from '../config/data-folder.js';
import { StartError } from '../core/start-error.js';
import type { Engine } from '../engine/native.js';
import type { ClusterNodeStats } from '../observe/cluster-metrics.js';
import type { DiskWatch } from '../observe/disk-watch.js';
import type { Logger } from '../observe/logger.js';
import { deferred } from '../core/deferred.js';
import { Follower } from './replica/follower.js';
import { Gateway } from './voting/gateway.js';
import { joinCluster } from './map/join.js';
import { LogCheck } from './replica/log-check.js';
import type { LoopPlace } from './loop-points.js';
import { shardOfNode, type ClusterMap } from './map/map.js';
import { ENVELOPE_BYTES } from './nats/message.js';
import { serversOf } from './nats/login.js';
import { Nats } from './nats/nats.js';
import { isStore, NodeFile } from './map/node-file.js';
import { answerAs, type NodeNews } from './map/node-reports.js';
import { NodeState, ReplicaState } from './voting/node-state.js';
import { Questions } from './voting/questions.js';
import { othersOfEachMajority } from './voting/quorum.js';
import { Reporter } from './replica/reporter.js';
import { SeedSource } from './replica/seed-source.js';
import { Seeding } from './replica/seeding.js';
import { StreamWatch } from './nats/stream-watch.js';
import { subjects } from './nats/subjects.js';
import { Trim } from './replica/trim.js';

const WAITING: NodeNews = { state: 'starting', reason: 'it waits for the cluster' };

const STATE_NAMES = {
  [ReplicaState.Following]: 'following',
  [ReplicaState.Behind]: 'behind',
  [ReplicaState.Stopped]: 'stopped',
} as const;

/** Of the interfaces of this node. */
interface Ports {
  readonly http: number;
  readonly grpc: number;
}

/** The side of a node that all its event loops share. */
export class ClusterNode {
  /** What its loops tell each other of each shard. */
  readonly #states: readonly NodeState[];
  readonly #lost = deferred<string>();
  readonly #parts: { close(): void }[] = [];
  #reporter: Reporter | undefined;
  #follower: Follower | undefined;
  #watch: StreamWatch | undefined;
  #seeding: Seeding | undefined;
  #running: { readonly engine: Engine; readonly ports: Ports } | undefined;

  private constructor(
    private readonly nats: Nats,
    private readonly config: Config,
    private readonly map: ClusterMap,
    private readonly file: NodeFile,
    private readonly dataPath: string,
    private readonly logger: Logger,
  ) {
    this.#states = map.shards.map(() => new NodeState());
  }

  /**
   * Enters the cluster. Resolves once all its nodes have, and once this node's replica has a log;
   * rejects with a StartError.
   */
  static async open(config: Config, dataPath: string, logger: Logger): Promise<ClusterNode> {
    const file = NodeFile.open(dataPath, config.clusterName);
    // Once for all connections of the process: credentials that are wrong end a start.
    const servers = serversOf(config.clusterUrls ?? []);
    await Nats.try(config, (reason) => logger.warn({ servers, reason }, 'waiting for NATS'));
    const nats = await Nats.connect(config);
    try {
      if (nats.versionFault !== undefined) logger.warn(nats.versionFault);
      nats.checkMaxPayload();
      let node: ClusterNode | undefined;
      // Before it takes its place: nobody is to take it meanwhile.
      answerAs(nats, config.clusterName, file.node, () =>
        node === undefined ? WAITING : node.#news(),
      );
      const map = await joinCluster(nats, config, file, logger);
      node = new ClusterNode(nats, config, map, file, dataPath, logger);
      await node.#findLog();
      return node;
    } catch (error) {
      await nats.close();
      throw error;
    }
  }

  /** The folder of the replica. */
  get folder(): string {
    return join(this.dataPath, `shard-${this.#shard}`);
  }

  get dimension(): number {
    return this.map.dimension;
  }

  get place(): LoopPlace {
    const { shards } = this.map;
    const { node, incarnations } = this.file;
    const shard = this.#shard;
    const nodes = shards[shard]?.nodes ?? [];
    const replica = nodes.indexOf(node);
    return {
      shard,
      replica,
      replicas: nodes.length,
      incarnation: incarnations[replica] ?? 0,
      memories: this.#states.map(({ memory }) => memory),
    };
  }

  /** The shard that this node has a replica of: it has a place in the map. */
  get #shard(): number {
    return shardOfNode(this.map, this.file.node) ?? 0;
  }

  /** What concerns that shard. */
  get #state(): NodeState {
    return this.#states[this.#shard] as NodeState;
  }

  /** Resolves, with the reason, once the log of the replica is given up: the node has to open anew. */
  get lost(): Promise<string> {
    return this.#lost.promise;
  }

  /** Gives up the log of the replica: the next start takes that of another. False where there is no other. */
  giveUpLog(reason: string): boolean {
    const { replica, replicas } = this.place;
    if (replicas === 1) return false;
    this.logger.warn({ reason }, 'this node gives up its points: it fetches those of another node');
    this.#reporter?.fallSilent();
    this.file.loseLog(replica);
    this.#lost.resolve(reason);
    return true;
  }

  /** Keeps the replica up with its stream from now on. */
  follow(engine: Engine, ports: Ports, disk: DiskWatch): void {
    this.#running = { engine, ports };
    disk.onLook = (isFull) => {
      this.#state.isDiskFull = isFull;
    };
    const { nats, file, folder, logger } = this;
    const { clusterName: cluster } = this.config;
    const { shard, replica, replicas, incarnation } = this.place;
    file.check(folder, engine.storeId);
    const stream = subjects.stream(cluster, shard);
    const reporter = new Reporter(nats, engine, { cluster, shard, replica }, this.#state, file);
    const follower = new Follower(
      nats,
      engine,
      stream,
      this.map.shards[shard]?.streamCreated,
      reporter,
      this.#state,
      logger,
      () => file.claim(engine.storeId),
    );
    const mostBytes = (): number => nats.maxPayload - ENVELOPE_BYTES;
    const source = new SeedSource(this.dataPath, folder, mostBytes, logger);
    nats.subscribe(subjects.seeds(cluster, shard, replica), (bytes, answer) => {
      void source.answer(bytes).then(answer);
    });
    const trim = new Trim(nats, engine, stream, this.#questions(), replicas, logger);
    const questions = this.#questions(incarnation);
    const check = new LogCheck(
      () => damageOf(engine) ?? source.damage,
      () => follower.cutOff,
      this.#state,
      questions,
      replicas,
      logger,
      (reason) => void this.giveUpLog(reason),
    );
    const onReplaced = (): void => {
      check.close();
      follower.stopFor(
        'another node has the place of this one in the cluster: stop this one for good',
      );
    };
    reporter.onReplaced = onReplaced;
    questions.onReplaced = onReplaced;
    this.#reporter = reporter;
    this.#follower = follower;
    this.#watch = new StreamWatch(nats, stream, (offMs) => {
      this.#state.clockOffMs = offMs;
    });
    this.#parts.push(source, trim, check, this.#watch);
  }

  /** For the metrics. */
  stats(): ClusterNodeStats {
    return {
      shard: this.place.shard,
      applied: this.#state.applied.last.sequence,
      state: STATE_NAMES[this.#state.replica],
      isConnected: this.nats.isConnected,
      stream: this.#watch?.state,
    };
  }

  /** What it tells whoever asks it. */
  #news(): NodeNews {
    const needsPoints = this.file.needsLog;
    if (this.#running === undefined) {
      const reason = needsPoints
        ? `it fetches the points of another node: ${this.#seeding?.fault ?? 'they are on their way'}`
        : 'it opens its points';
      return { state: 'starting', reason, needsPoints };
    }
    const { engine, ports } = this.#running;
    return {
      state: STATE_NAMES[this.#state.replica],
      reason: this.#follower?.fault ?? '',
      points: engine.status().points,
      httpPort: ports.http,
      grpcPort: ports.grpc,
      needsPoints,
    };
  }

  /** Follows no more. The engine is closed next: what it still has may wait in it. */
  stop(): void {
    for (const part of this.#parts) part.close();
    this.#follower?.stop();
  }

  async close(): Promise<void> {
    this.stop();
    await this.#follower?.ended();
    this.#reporter?.close();
    await this.nats.close();
  }

  /** Makes the folder of a new replica, or waits for the log of another one where that of this is lost. */
  async #findLog(): Promise<void> {
    const { nats, file, folder, logger } = this;
    const { clusterName: cluster } = this.config;
    const { shard, replica, replicas } = this.place;
    if (file.needsLog || (file.hasStore && !isStore(folder))) {
      if (replicas === 1) throw lostForGood(folder);
      file.loseLog(replica);
      const place = { cluster, shard, replica };
      this.#seeding = new Seeding(nats, this.#questions(), place, file, folder, logger);
      await this.#seeding.run();
    }
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    syncFolder(this.dataPath);
  }

  /** Questions to so many other replicas that the log of one of them can be taken. */
  #questions(incarnation = Infinity): Questions {
    const { clusterName } = this.config;
    const { shard, replica, replicas } = this.place;
    const gateway = new Gateway(this.nats, clusterName, shard, replicas, this.logger);
    return new Questions(gateway, othersOfEachMajority(replicas), replica, incarnation);
  }
}

function damageOf(engine: Engine): string | undefined {
  const { damage } = engine.status();
  return damage && `its points are damaged: ${damage.places.join(', ')}`;
}

function lostForGood(folder: string): StartError {
  return new StartError(
    `the folder ${folder} holds no replica, and no other node has one: put it back as it was`,
  );
}
