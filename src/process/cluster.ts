import type { ClusterPoints } from '../cluster/loop-points.js';
import type { Engine } from '../engine/native.js';
import type { Logger } from '../observe/logger.js';
import { budgetOf, type LoopSettings } from './loop.js';
import { withClusterPackages } from '../config/cluster-packages.js';

/** The code of a node of a cluster. Throws a StartError where packages that it takes are missing. */
export async function loadCluster(): Promise<typeof import('../cluster/open.js')> {
  return await withClusterPackages(
    async () => await import('../cluster/open.js'),
    'or unset CLUSTER_URL to run a single server.',
  );
}

/** The points of the cluster for the calling loop; undefined where there is none. */
export async function openClusterPoints(
  { config, place, inflight }: LoopSettings,
  engine: Engine,
  logger: Logger,
): Promise<ClusterPoints | undefined> {
  if (place === undefined) return undefined;
  const { ClusterPoints } = await import('../cluster/loop-points.js');
  return await ClusterPoints.open(config, place, engine, budgetOf(config, inflight), logger);
}
