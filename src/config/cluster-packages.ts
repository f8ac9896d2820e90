import { messageOf, StartError } from '../core/start-error.js';

/** What the cluster's code imports, and the versions that it is tested with. */
export const CLUSTER_PACKAGES: Readonly<Record<string, string>> = {
  '@nats-io/transport-node': '3',
  '@nats-io/jetstream': '3',
  '@nats-io/kv': '3',
};

/**
 * Loads code of a cluster. The packages that it takes are optional: where they are missing, this throws
 * a StartError that says how to install them, or what to do instead.
 */
export async function withClusterPackages<Code>(
  load: () => Promise<Code>,
  instead?: string,
): Promise<Code> {
  try {
    return await load();
  } catch (error) {
    const packages = Object.entries(CLUSTER_PACKAGES).map(
      ([name, version]) => `${name}@${version}`,
    );
    throw new StartError(
      'CLUSTER_URL is set, but the packages that a cluster takes cannot be loaded: ' +
        `${messageOf(error)}\n` +
        'Install them where vectord is installed (in a clone `npm ci` does it):\n\n' +
        `  npm install ${packages.join(' ')}${instead === undefined ? '' : `\n\n${instead}`}`,
      undefined,
      { cause: error },
    );
  }
}
