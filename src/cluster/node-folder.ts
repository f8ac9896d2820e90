import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
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
  if (!existsSync(path)) write(path, { cluster, node: v4() });
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

/**
 * Notes which store the node's replica is, before it confirms its first message: an empty store has no
 * lasting id. Another one in its place would count in majorities without what the node has confirmed.
 */
export function claimReplica(dataPath: string, storeId: Uint8Array): void {
  const path = nodeFile(dataPath);
  const file = read(path);
  if (file.store === undefined) write(path, { ...file, store: textOf(storeId) });
}

/** Throws a StartError where the store of a node is not the one that it has noted. */
export function checkReplica(dataPath: string, folder: string, storeId: Uint8Array): void {
  const { store } = read(nodeFile(dataPath));
  if (store !== undefined && store !== textOf(storeId)) {
    throw new StartError(
      `the folder ${folder} is not the one of this node's replica, which is lost: put it back as it was, ` +
        'and no older copy of it',
    );
  }
}

function textOf(storeId: Uint8Array): string {
  return Buffer.from(storeId).toString('hex');
}

interface NodeFile {
  readonly cluster: string;
  readonly node: string;
  /** The id of the store that is the replica, once there is one. */
  readonly store?: string;
}

/** Replaces the file, or leaves it as it was. */
function write(path: string, file: NodeFile): void {
  const unfinished = `${path}.new`;
  rmSync(unfinished, { force: true });
  writeDurably(unfinished, `${JSON.stringify(file)}\n`);
  renameSync(unfinished, path);
  syncFolder(dirname(path));
}

function read(path: string): NodeFile {
  try {
    const file = JSON.parse(readFileSync(path, 'utf8')) as NodeFile;
    if (typeof file.cluster === 'string' && typeof file.node === 'string') return file;
    throw new Error('it names no cluster and no node');
  } catch (error) {
    throw new StartError(`the file ${path} of the node cannot be read: ${messageOf(error)}`);
  }
}
