import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.js';
import { messageOf, StartError } from '../core/start-error.js';
import type { Logger } from '../observe/logger.js';
import { MapStore, type ClusterMap, type ShardPlace } from './map.js';
import type { Nats } from './nats.js';
import type { NodeFile } from './node-file.js';
import { createStream, natsReplicas, streamFault } from './stream.js';
import { subjects } from './subjects.js';

const DEFAULT_DIMENSION = 384;

const LOOK_MS = 250;
/** A start that waits for other nodes says so this often. */
const WAITING_LINE_MS = 5_000;

/**
 * The map of the cluster, once all its nodes are in it: the first makes it, each enters its id, and
 * the stream of the shard is made last. Throws a StartError where this node has no place in it.
 */
export async function joinCluster(
  nats: Nats,
  config: Config,
  file: NodeFile,
  logger: Logger,
): Promise<ClusterMap> {
  const { clusterName: cluster } = config;
  const bucket = await patiently(
    async () => await nats.bucket(subjects.bucket(cluster), natsReplicas(config.clusterReplicas)),
    cluster,
    logger,
  );
  const store = new MapStore(bucket);
  const joined = await patiently(
    async () => {
      const known = await store.read();
      const map = enter(known?.map ?? newMap(config), config, file);
      const made = isFull(map) ? await withStream(map, nats, config) : map;
      if (made !== known?.map) await store.write(made, known?.revision);
      if (!isFull(made)) throw new Error(`${missingNodes(made)} more of its nodes have to start`);
      return made;
    },
    cluster,
    logger,
  );
  for (const shard of joined.shards.keys()) {
    const fault = await patiently(
      async () => await streamFault(nats, cluster, shard, joined.replicas, config.clusterLogBytes),
      cluster,
      logger,
    );
    if (fault !== undefined) logger.warn(fault);
  }
  return joined;
}

function newMap({ dimension = DEFAULT_DIMENSION, clusterReplicas }: Config): ClusterMap {
  return { version: 1, dimension, replicas: clusterReplicas, shards: [{ nodes: [] }] };
}

/** The map with a node in it: the same one where it was there. */
function enter(map: ClusterMap, { clusterName, ...config }: Config, file: NodeFile): ClusterMap {
  const { dimension, replicas, shards } = map;
  if (config.dimension !== undefined && config.dimension !== dimension) {
    throw mismatch('DIMENSION', config.dimension, dimension, clusterName);
  }
  if (config.clusterReplicas !== replicas) {
    throw mismatch('CLUSTER_REPLICAS', config.clusterReplicas, replicas, clusterName);
  }
  const isIn = (node: string): boolean => shards.every(({ nodes }) => nodes.includes(node));
  const { node } = file;
  if (isIn(node)) return map;
  if (isFull(map)) {
    const { clusterReplaces: lost } = config;
    if (file.hasStore) throw isNoNode(clusterName);
    if (lost === undefined || !isIn(lost)) throw noPlace(map, clusterName, lost);
    // Noted before the map has the node: after a crash in between, the node must not start without a log.
    file.needLog();
    const replaced = shards.map((shard): ShardPlace => {
      const nodes = shard.nodes.map((other) => (other === lost ? node : other));
      return { ...shard, nodes };
    });
    return { ...map, shards: replaced };
  }
  const entered = shards.map(({ nodes }): ShardPlace => ({ nodes: [...nodes, node] }));
  return { ...map, shards: entered };
}

/** The map of a cluster whose streams are there: they are made once, and never again. */
async function withStream(
  map: ClusterMap,
  nats: Nats,
  { clusterName, clusterLogBytes }: Config,
): Promise<ClusterMap> {
  if (map.shards.every(({ streamCreated }) => streamCreated !== undefined)) return map;
  const shards = map.shards.map(async (shard, number) => {
    const { created } = await createStream(
      nats,
      clusterName,
      number,
      map.replicas,
      clusterLogBytes,
    );
    return { ...shard, streamCreated: created };
  });
  return { ...map, shards: await Promise.all(shards) };
}

function isFull(map: ClusterMap): boolean {
  return missingNodes(map) === 0;
}

function missingNodes({ replicas, shards }: ClusterMap): number {
  return Math.max(...shards.map(({ nodes }) => replicas - nodes.length));
}

function isNoNode(cluster: string): StartError {
  return new StartError(
    `the data folder (DATA_PATH) is that of a node that is not in the cluster ${cluster}: another node ` +
      'has its place, or it is from another cluster with this name. Stop this node for good',
  );
}

function noPlace(
  { replicas, shards }: ClusterMap,
  cluster: string,
  replaced: string | undefined,
): StartError {
  const nodes = shards[0]?.nodes.join(', ');
  return new StartError(
    replaced === undefined
      ? `the cluster ${cluster} has its ${replicas} nodes, and this one is none of them: its data folder ` +
          '(DATA_PATH) is new. Start it on the folder that it had. If that is lost for good, set ' +
          `CLUSTER_REPLACES to the id of the lost node, one of ${nodes}: \`vectord cluster status\` says ` +
          'which does not answer'
      : `CLUSTER_REPLACES is ${replaced}, expected the id of a node of the cluster ${cluster}: one of ${nodes}`,
  );
}

function mismatch(setting: string, found: number, expected: number, cluster: string): StartError {
  return new StartError(
    `${setting} is ${found}, but the cluster ${cluster} was made with ${expected}: set it to ${expected}`,
  );
}

/** Acts until it succeeds: servers and other nodes may not be there yet. */
async function patiently<Answer>(
  act: () => Promise<Answer>,
  cluster: string,
  logger: Logger,
): Promise<Answer> {
  let lineAt = performance.now() + WAITING_LINE_MS;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (error instanceof StartError) throw error;
      if (performance.now() >= lineAt) {
        logger.info({ cluster, reason: messageOf(error) }, 'waiting for the cluster');
        lineAt = performance.now() + WAITING_LINE_MS;
      }
    }
    await sleep(LOOK_MS);
  }
}
