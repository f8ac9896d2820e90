import { accessSync, closeSync, constants, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf, StartError } from './start-error.js';

/**
 * The data folder's absolute path; the folder is made, for its owner alone, if it is missing. One
 * in which no file can be made would take writes until its log needs the next: it is refused.
 */
export function ensureDataFolder(dataPath: string): string {
  const path = resolve(dataPath);
  try {
    const firstMade = mkdirSync(path, { recursive: true, mode: 0o700 });
    if (firstMade !== undefined) syncParents(path, firstMade);
  } catch (error) {
    const reason = isTaken(error) ? 'it is a file, expected a folder' : messageOf(error);
    throw new StartError(`the data folder ${path} (DATA_PATH) cannot be made: ${reason}`);
  }
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new StartError(
      `the data folder ${path} (DATA_PATH) cannot be written to: ${messageOf(error)}\n${WHO_NEEDS_WHAT}`,
    );
  }
  return path;
}

/** What to do about a file or folder that the system does not let us have. */
export const WHO_NEEDS_WHAT =
  `the service runs as user ${process.getuid?.() ?? 'unknown'}, ` +
  'which has to be allowed to read and write the folder and all files in it';

function isTaken(error: unknown): boolean {
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
