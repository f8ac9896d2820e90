import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { addKey, readKeyEntries, revokeKey } from '../auth/keys-edit.js';
import { createKeysFile, type KeyHolder } from '../auth/keys-file.js';
import { ownKeysPath } from '../auth/own-keys-file.js';
import type { Config } from '../config/config.js';
import { ensureDataFolder } from '../config/data-folder.js';
import { StartError } from '../core/start-error.js';
import { tableLines } from './table.js';

/** The settings that say where the keys are. */
type KeysPlace = Pick<Config, 'serviceKeysFile' | 'dataPath'>;

/**
 * Makes a keys file where the service looks for one, and prints where that is; never a key. A
 * service that runs reads it within a second. A file that is there stays as it is.
 */
export function createKeys(place: KeysPlace): void {
  const path = pathToMake(place);
  if (!createKeysFile(path)) {
    throw new StartError(
      `the keys file ${path} exists, and nothing was changed: give a name to add a key to it, or ` +
        'move it away to have fresh keys',
    );
  }
  process.stdout.write(
    `created ${path}, readable by its owner alone, with two keys in plain text:\n` +
      '  admin   readwrite\n' +
      '  search  readonly\n',
  );
}

/** Adds a key, and prints it: nobody can read it anywhere later. */
export async function createKey(place: KeysPlace, holder: KeyHolder): Promise<void> {
  const path = pathToMake(place);
  const key = await addKey(path, holder);
  process.stderr.write(
    `added the ${holder.role} key ${JSON.stringify(holder.name)} to ${path}, which has only its ` +
      'hash. A service that runs takes it within a second. The key is shown this once:\n',
  );
  process.stdout.write(`${key}\n`);
}

/** Prints name, role and kind of each key. */
export function listKeys(place: KeysPlace): void {
  const rows = readKeyEntries(pathThatIs(place)).map(({ name, role, key }) => [
    shown(name),
    role,
    key === undefined ? 'hash' : 'plain',
  ]);
  const lines = tableLines([['NAME', 'ROLE', 'STORED AS'], ...rows]);
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** Removes a key. A service that runs refuses it within a second. */
export async function dropKey(
  place: KeysPlace,
  name: string,
  options: { readonly force: boolean },
): Promise<void> {
  const path = pathThatIs(place);
  await revokeKey(path, name, options);
  process.stderr.write(`revoked the key ${JSON.stringify(name)} of ${path}\n`);
}

/** The path of the file, in a folder that is there: a new one would be that of no service. */
function pathToMake(place: KeysPlace): string {
  const { serviceKeysFile, dataPath } = place;
  if (serviceKeysFile !== undefined) return resolve(serviceKeysFile);
  if (!existsSync(dataPath)) {
    throw new StartError(
      `there is no data folder ${resolve(dataPath)}: set DATA_PATH as for the service, whose first ` +
        'start makes it, or make it',
    );
  }
  return ownKeysPath(ensureDataFolder(dataPath));
}

/** The path of a file that has to be there. */
function pathThatIs({ serviceKeysFile, dataPath }: KeysPlace): string {
  const path = resolve(serviceKeysFile ?? ownKeysPath(dataPath));
  if (!existsSync(path)) {
    throw new StartError(
      `there is no keys file ${path}: set DATA_PATH or SERVICE_KEYS_FILE as for the service, or ` +
        'make one by `vectord keys create`',
    );
  }
  return path;
}

/** A name as one word: quoted and escaped where it holds spaces or control characters. */
function shown(name: string): string {
  return /^[^\p{C}\s"]+$/u.test(name) ? name : JSON.stringify(name);
}
