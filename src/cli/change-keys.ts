import { resolve } from 'node:path';
import type { Config } from '../config/config.js';
import { ensureDataFolder } from '../config/data-folder.js';
import { createKeysFile } from '../auth/keys-file.js';
import { ownKeysPath } from '../auth/own-keys-file.js';
import { StartError } from '../core/start-error.js';

/**
 * Makes a keys file where the service looks for one, and prints where that is; never a key. A
 * service that runs reads it within a second. A file that is there stays as it is.
 */
export function createKeys({ serviceKeysFile, dataPath }: Config): void {
  const path =
    serviceKeysFile === undefined
      ? ownKeysPath(ensureDataFolder(dataPath))
      : resolve(serviceKeysFile);
  if (!createKeysFile(path)) {
    throw new StartError(
      `the keys file ${path} exists, and nothing was changed: move it away to have fresh keys`,
    );
  }
  process.stdout.write(
    `created ${path}, readable by its owner alone, with two keys:\n` +
      '  admin   readwrite\n' +
      '  search  readonly\n',
  );
}
