import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf, StartError } from './start-error.js';

/** The data folder's absolute path; the folder is made, for its owner alone, if it is missing. */
export function ensureDataFolder(dataPath: string): string {
  const path = resolve(dataPath);
  try {
    const firstMade = mkdirSync(path, { recursive: true, mode: 0o700 });
    if (firstMade !== undefined) syncParents(path, firstMade);
  } catch (error) {
    throw new StartError(`the data folder ${path} (DATA_PATH) cannot be made: ${messageOf(error)}`);
  }
  return path;
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
