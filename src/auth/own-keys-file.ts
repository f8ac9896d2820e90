import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { writeDurably } from '../config/data-folder.js';
import { createKeysFile } from './keys-file.js';
import { StartError } from '../core/start-error.js';

/**
 * The marker beside a keys file in the data folder: the service has used that file. A keys file that
 * is lost is not replaced then, as fresh keys would lock out all clients without a word. The engine
 * knows the name as well: a restore into a folder with nothing but this and the keys is allowed.
 */
const MARKER_SUFFIX = '.made';

const MARKER_TEXT =
  'vectord made keys.json here and does not make it again: `vectord keys create` does.\n';

/** The keys file of a service without SERVICE_KEYS_FILE. */
export function ownKeysPath(dataPath: string): string {
  return join(dataPath, 'keys.json');
}

/**
 * Makes the keys file of a data folder that never had one. The caller holds the lock of the folder.
 * The marker is written last: an interrupted start makes keys again rather than refuse for good.
 */
export function openOwnKeysFile(dataPath: string): { path: string; isNew: boolean } {
  const path = ownKeysPath(dataPath);
  const marker = path + MARKER_SUFFIX;
  const isMarked = existsSync(marker);
  if (isMarked && !existsSync(path)) {
    throw new StartError(
      `the keys file ${path} is missing, and ${marker} says that there was one: put it back, set ` +
        'SERVICE_KEYS_FILE to another, or make one with fresh keys by `vectord keys create`',
    );
  }
  const isNew = createKeysFile(path);
  if (!isMarked) writeMarker(marker);
  return { path, isNew };
}

/** A full disk is no reason to refuse a start: the next one writes the marker. */
function writeMarker(marker: string): void {
  try {
    writeDurably(marker, MARKER_TEXT);
  } catch {
    return;
  }
}
