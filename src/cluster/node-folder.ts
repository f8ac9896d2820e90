import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { v4 } from 'uuid';
import { nodeFile, syncFolder, writeDurably } from '../config/data-folder.js';
import { messageOf, StartError } from '../core/start-error.js';

/** What makes a data folder one of a single server. */
const STORE_FILE = 'MANIFEST';

/** The id of a node, which its data folder keeps: a node with a fresh folder is another one. */
export function openNodeFolder(dataPath: string, cluster: string): string {
  if (existsSync(join(dataPath, STORE_FILE))) {
    throw new StartError(
      `the data folder ${dataPath} (DATA_PATH) holds the points of a single server: start the node on ` +
        'another folder, and bring the points there by `vectord export` and `vectord import`',
    );
  }
  const path = nodeFile(dataPath);
  if (!existsSync(path)) {
    const unfinished = `${path}.new`;
    rmSync(unfinished, { force: true });
    writeDurably(unfinished, `${JSON.stringify({ cluster, node: v4() })}\n`);
    renameSync(unfinished, path);
    syncFolder(dataPath);
  }
  const file = read(path);
  if (file.cluster === cluster) return file.node;
  throw new StartError(
    `the data folder ${dataPath} (DATA_PATH) is that of a node of the cluster ${file.cluster}, ` +
      `expected ${cluster} (CLUSTER_NAME)`,
  );
}

/** The folder of the node's replica of a shard, which is made if it is missing. */
export function replicaFolder(dataPath: string, shard: number): string {
  const path = join(dataPath, `shard-${shard}`);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  syncFolder(dataPath);
  return path;
}

interface NodeFile {
  readonly cluster: string;
  readonly node: string;
}

function read(path: string): NodeFile {
  try {
    const { cluster, node } = JSON.parse(readFileSync(path, 'utf8')) as Partial<NodeFile>;
    if (typeof cluster === 'string' && typeof node === 'string') return { cluster, node };
    throw new Error('it names no cluster and no node');
  } catch (error) {
    throw new StartError(`the file ${path} of the node cannot be read: ${messageOf(error)}`);
  }
}
