import type { ClusterPoints } from '../cluster/open.js';
import type { Engine } from '../engine/native.js';
import type { Logger } from '../observe/logger.js';
import type { LoopSettings } from './loop.js';
import { messageOf, StartError } from '../core/start-error.js';

/** What the cluster's code imports, and the versions that it is tested with. */
export const CLUSTER_PACKAGES: Readonly<Record<string, string>> = {
  '@nats-io/transport-node': '3',
  '@nats-io/jetstream': '3',
  '@nats-io/kv': '3',
};

/**
 * The code of a node of a cluster. The packages that it takes are optional: they are loaded here and
 * nowhere else. Throws a StartError where they are missing.
 */
export async function loadCluster(): Promise<typeof import('../cluster/open.js')> {
  try {
    return await import('../cluster/open.js');
  } catch (error) {
    const packages = Object.entries(CLUSTER_PACKAGES).map(
      ([name, version]) => `${name}@${version}`,
    );
    throw new StartError(
      'CLUSTER_URL is set, but the packages that a cluster takes cannot be loaded: ' +
        `${messageOf(error)}\nInstall them where vectord is installed:\n\n` +
        `  npm install ${packages.join(' ')}\n\nor unset CLUSTER_URL to run a single server.`,
      undefined,
      { cause: error },
    );
  }
}

/** The points of the cluster for the calling loop; undefined where there is none. */
export async function openClusterPoints(
  { config, place }: LoopSettings,
  engine: Engine,
  logger: Logger,
): Promise<ClusterPoints | undefined> {
  if (place === undefined) return undefined;
  const { ClusterPoints } = await loadCluster();
  return await ClusterPoints.open(config, place, engine, logger);
}
