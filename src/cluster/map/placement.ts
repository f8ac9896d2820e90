import type { Config } from '../../config/config.js';
import { StartError } from '../../core/start-error.js';
import { shardOfNode, type ClusterMap } from './map.js';
import type { NodeFile } from './node-file.js';

const DEFAULT_DIMENSION = 384;

/** The settings that place a node. */
type PlacementSettings = Pick<
  Config,
  | 'dimension'
  | 'clusterName'
  | 'clusterReplicas'
  | 'clusterShards'
  | 'clusterShard'
  | 'clusterReplaces'
>;

/** The map of a cluster without nodes. */
export function newMap({
  dimension = DEFAULT_DIMENSION,
  clusterReplicas: replicas,
  clusterShards,
}: PlacementSettings): ClusterMap {
  const shards = Array.from({ length: clusterShards }, () => ({ nodes: [] }));
  return { version: 1, dimension, replicas, shards };
}

/**
 * The map with a node in it, which holds a replica of one shard: the same map where the node was there.
 * Throws a StartError where it has no place.
 */
export function enter(map: ClusterMap, settings: PlacementSettings, file: NodeFile): ClusterMap {
  const { clusterName: cluster, clusterShard: wanted, clusterReplaces: lost } = settings;
  checkSame(map, settings);
  const { node } = file;
  const own = shardOfNode(map, node);
  if (own !== undefined) {
    if (wanted !== undefined && wanted !== own) throw otherShard(wanted, 'this node', own, cluster);
    return map;
  }
  if (file.hasStore) throw isNoNode(cluster);
  const ofLost = lost === undefined ? undefined : shardOfNode(map, lost);
  if (ofLost === undefined) {
    if (lost !== undefined || isFull(map)) throw noPlace(map, settings);
    return withNodes(map, freeShard(map, settings), (nodes) => [...nodes, node]);
  }
  if (wanted !== undefined && wanted !== ofLost) {
    throw otherShard(wanted, 'the node of CLUSTER_REPLACES', ofLost, cluster);
  }
  // Noted before the map has the node: after a crash in between, the node must not start without a log.
  // Before all nodes are there no log has anything.
  if (isFull(map)) file.needLog();
  return withNodes(map, ofLost, (nodes) => nodes.map((other) => (other === lost ? node : other)));
}

/** Whether all nodes are in the map. */
export function isFull({ replicas, shards }: ClusterMap): boolean {
  return shards.every(({ nodes }) => nodes.length >= replicas);
}

/** How many nodes have to start still, and of which shards they are where there are several. */
export function describeMissing(map: ClusterMap): string {
  const { replicas, shards } = map;
  const entered = shards.reduce((sum, { nodes }) => sum + nodes.length, 0);
  const where = shards.length > 1 ? ` (${missingByShard(map)})` : '';
  return `${replicas * shards.length - entered} more of its nodes have to start${where}`;
}

function missingByShard({ replicas, shards }: ClusterMap): string {
  const missing = shards.map(({ nodes }) => replicas - nodes.length);
  return missing
    .flatMap((count, shard) => (count > 0 ? [`${count} of shard ${shard}`] : []))
    .join(', ');
}

/** The shard that a node enters: the one that is set, or the first of those with the fewest nodes. */
function freeShard(map: ClusterMap, settings: PlacementSettings): number {
  const { replicas, shards } = map;
  const { clusterShard: wanted } = settings;
  const counts = shards.map(({ nodes }) => nodes.length);
  if (wanted === undefined) return counts.indexOf(Math.min(...counts));
  if ((counts[wanted] ?? 0) >= replicas) throw shardIsFull(map, wanted, settings);
  return wanted;
}

function withNodes(
  map: ClusterMap,
  number: number,
  change: (nodes: readonly string[]) => readonly string[],
): ClusterMap {
  const shards = map.shards.map((shard, other) =>
    other === number ? { ...shard, nodes: change(shard.nodes) } : shard,
  );
  return { ...map, shards };
}

/** A cluster is not changed by the settings of a node that starts later. */
function checkSame(map: ClusterMap, settings: PlacementSettings): void {
  const { clusterName, dimension = map.dimension, clusterReplicas, clusterShards } = settings;
  for (const [setting, found, expected] of [
    ['DIMENSION', dimension, map.dimension],
    ['CLUSTER_REPLICAS', clusterReplicas, map.replicas],
    ['CLUSTER_SHARDS', clusterShards, map.shards.length],
  ] as const) {
    if (found === expected) continue;
    throw new StartError(
      `${setting} is ${found}, but the cluster ${clusterName} was made with ${expected}: set it to ` +
        expected,
    );
  }
}

function isNoNode(cluster: string): StartError {
  return new StartError(
    `the data folder (DATA_PATH) is that of a node that is not in the cluster ${cluster}: another node ` +
      'has its place, or CLUSTER_NAME or CLUSTER_URL name another cluster. Correct these, or stop this ' +
      'node for good',
  );
}

function otherShard(wanted: number, who: string, own: number, cluster: string): StartError {
  return new StartError(
    `CLUSTER_SHARD is ${wanted}, but ${who} is in shard ${own} of the cluster ${cluster}: set it to ` +
      `${own}, or unset it`,
  );
}

function shardIsFull(map: ClusterMap, shard: number, settings: PlacementSettings): StartError {
  return new StartError(
    `CLUSTER_SHARD is ${shard}, but shard ${shard} of the cluster ${settings.clusterName} has its ` +
      `${map.replicas} nodes, ${map.shards[shard]?.nodes.join(', ')}: unset it, or set it to a shard that ` +
      `lacks nodes (${missingByShard(map)})`,
  );
}

function noPlace(map: ClusterMap, settings: PlacementSettings): StartError {
  const { clusterName: cluster, clusterReplaces: replaced } = settings;
  const nodes = describeNodes(map);
  const hasNodes = map.shards.some((shard) => shard.nodes.length > 0);
  return new StartError(
    replaced === undefined
      ? `the cluster ${cluster} has its ${map.replicas * map.shards.length} nodes, and this one is none ` +
          'of them: its data folder (DATA_PATH) is new. Start it on the folder that it had. If that is ' +
          `lost for good, set CLUSTER_REPLACES to the id of the lost node, one of ${nodes}: ` +
          '`vectord cluster status` says which does not answer'
      : `CLUSTER_REPLACES is ${replaced}, expected the id of a node of the cluster ${cluster}, ` +
          (hasNodes ? `one of ${nodes}` : 'which has none yet: unset it'),
  );
}

/** The ids of all nodes, by shard where there are several. */
function describeNodes({ shards }: ClusterMap): string {
  const lists = shards.map(({ nodes }) => nodes.join(', '));
  if (lists.length === 1) return lists.join();
  return lists.map((nodes, shard) => `${nodes} (shard ${shard})`).join('; ');
}
