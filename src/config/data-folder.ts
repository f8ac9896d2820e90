import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { messageOf, StartError } from '../core/start-error.js';

/** Whoever may write to the folder can replace the points and the keys in it. */
const WRITABLE_BY_OTHERS = 0o002;

/**
 * The data folder's absolute path; the folder is made, for its owner alone, if it is missing. One
 * in which no file can be made would take writes until its log needs the next: it is refused. A
 * folder that was there before keeps its permissions: others may rely on them. A failure names the
 * `setting` that the path comes from.
 */
export function ensureDataFolder(dataPath: string, setting = 'DATA_PATH'): string {
  const path = resolve(dataPath);
  try {
    const firstMade = makeFolders(path);
    if (firstMade !== undefined) syncParents(path, firstMade);
  } catch (error) {
    const reason = isTaken(error) ? 'it is a file, expected a folder' : messageOf(error);
    throw new StartError(`the data folder ${path} (${setting}) cannot be made: ${reason}`);
  }
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new StartError(
      `the data folder ${path} (${setting}) cannot be written to: ${messageOf(error)}\n${WHO_NEEDS_WHAT}`,
    );
  }
  return path;
}

/** A line for the log if users other than the owner and the group can write to the folder. */
export function dataFolderWarning(path: string): string | undefined {
  const mode = statSync(path).mode & 0o777;
  if ((mode & WRITABLE_BY_OTHERS) === 0) return undefined;
  return (
    `every user of this machine can write to the data folder ${path} (mode ${mode.toString(8)}), ` +
    `and so replace its points and keys: chmod o-w ${path}`
  );
}

/** File systems that write what is overwritten to another place, by their magic number on Linux. */
const COPY_ON_WRITE: ReadonlyMap<number, string> = new Map([
  [0x9123683e, 'btrfs'],
  [0x2fc12fc1, 'ZFS'],
  [0xca451a4e, 'bcachefs'],
  [0xf2f52010, 'F2FS'],
  [0x3434, 'NILFS2'],
]);

/** A line for the log if less is promised of a full disk under this folder. */
export function fileSystemWarning(path: string): string | undefined {
  // The numbers of other systems mean other things.
  if (process.platform !== 'linux') return undefined;
  return copyOnWriteWarning(path, statfsSync(path).type);
}

export function copyOnWriteWarning(path: string, fileSystem: number): string | undefined {
  // Numbers above 2^31 are negative on some processors.
  const name = COPY_ON_WRITE.get(fileSystem >>> 0);
  if (name === undefined) return undefined;
  return (
    `the data folder ${path} is on ${name}, where overwriting and deleting need free space: on a ` +
    'full disk deletes may be refused, too, and the service may turn read-only or not start until ' +
    'there is space; no acknowledged write is lost. Keep some space free, or use ext4 or XFS'
  );
}

/**
 * Makes a folder and the missing ones above it, and answers the outermost that it made. Node.js does
 * the same, but never ends where the system answers ENOENT below a folder that exists, as in /proc.
 */
function makeFolders(path: string): string | undefined {
  const missing = [path];
  for (let above = dirname(path); !existsSync(above); above = dirname(above)) {
    missing.unshift(above);
  }
  let firstMade: string | undefined;
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: 0o700 });
      firstMade ??= folder;
    } catch (error) {
      if (!isFolder(folder)) throw error;
    }
  }
  return firstMade;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** What to do about a file or folder that the system does not let us have. */
export const WHO_NEEDS_WHAT =
  `the service runs as user ${process.getuid?.() ?? 'unknown'}, ` +
  'which has to be allowed to read and write the folder and all files in it';

/** Whether a file was not made since its name is taken. */
export function isTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}

/** Makes the names of the new folders durable, from the innermost to the outermost. */
function syncParents(path: string, firstMade: string): void {
  for (let made = path; made.length >= firstMade.length; made = dirname(made)) {
    syncFolder(dirname(made));
  }
}

/** Makes the names in a folder durable. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Creates a file for its owner alone. Its content is durable then, its name not yet. */
export function writeDurably(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** What makes a data folder one of a node of a cluster. */
export function nodeFile(dataPath: string): string {
  return join(dataPath, 'node.json');
}

/** Throws a StartError where a single server is started on the data folder of a node of a cluster. */
export function refuseNodeFolder(dataPath: string): void {
  if (!existsSync(nodeFile(dataPath))) return;
  throw new StartError(
    `the data folder ${dataPath} (DATA_PATH) is that of a node of a cluster: set CLUSTER_URL, or start ` +
      'on another folder',
  );
}
