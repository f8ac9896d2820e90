import type { Config } from '../config/config.js';
import { StartError } from '../core/start-error.js';
import type { ClusterMap, ShardPlace } from './map.js';
import type { NodeFile } from './node-file.js';

const DEFAULT_DIMENSION = 384;

export function newMap({ dimension = DEFAULT_DIMENSION, clusterReplicas }: Config): ClusterMap {
  return { version: 1, dimension, replicas: clusterReplicas, shards: [{ nodes: [] }] };
}

/** The map with a node in it: the same one where it was there. */
export function enter(
  map: ClusterMap,
  { clusterName, ...config }: Config,
  file: NodeFile,
): ClusterMap {
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

export function isFull(map: ClusterMap): boolean {
  return missingNodes(map) === 0;
}

export function missingNodes({ replicas, shards }: ClusterMap): number {
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
