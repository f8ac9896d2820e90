import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isTaken, syncFolder } from '../config/data-folder.js';
import { messageOf, StartError } from '../core/start-error.js';
import {
  formatKeysFile,
  freshKey,
  parseKeysFile,
  readKeysFile,
  refusal,
  sha256,
  type KeyEntry,
  type KeyHolder,
} from './keys-file.js';

/** The entries of a keys file, which is checked as a service checks it. */
export function readKeyEntries(path: string): KeyEntry[] {
  const { text } = readKeysFile(path);
  parseKeysFile(path, text);
  // It has this form, or it would have been refused.
  const { keys }: { keys: KeyEntry[] } = JSON.parse(text);
  return keys;
}

/**
 * Adds a fresh key to a keys file, which is made if it is missing, and answers the key. The file gets
 * its hash alone: the key has 256 random bits, so nobody finds it from the hash.
 */
export async function addKey(path: string, { name, role }: KeyHolder): Promise<string> {
  const key = freshKey();
  await edit(path, () => {
    const entries = existsSync(path) ? readKeyEntries(path) : [];
    if (entries.some((entry) => entry.name === name)) {
      throw refusal(
        path,
        `has a key ${JSON.stringify(name)} already: choose another name, or revoke that key first`,
      );
    }
    return [...entries, { name, role, sha256: sha256(key).toString('hex') }];
  });
  return key;
}

/** Removes a key by its name. The last one that may write is kept unless that is forced. */
export async function revokeKey(
  path: string,
  name: string,
  { force }: { readonly force: boolean },
): Promise<void> {
  await edit(path, () => {
    const entries = readKeyEntries(path);
    const left = entries.filter((entry) => entry.name !== name);
    if (left.length === entries.length) {
      const names = entries.map((entry) => JSON.stringify(entry.name)).join(', ');
      throw refusal(path, `has no key ${JSON.stringify(name)}, expected one of ${names}`);
    }
    if (left.length === 0) {
      throw refusal(path, 'has no other key, and a service needs one: create another key first');
    }
    if (!force && left.every(({ role }) => role === 'readonly')) {
      throw refusal(
        path,
        'would be left without a key that may write: create one first, or add --force',
      );
    }
    return left;
  });
}

/**
 * Replaces a keys file by what `change` makes of it. The new text is written to a file beside it that
 * only one process can create: this is the lock, too, and it goes with the rename.
 */
async function edit(path: string, change: () => readonly KeyEntry[]): Promise<void> {
  // A link is followed: it stays, and its target is replaced.
  const target = existsSync(path) ? realpathSync(path) : path;
  const unfinished = `${target}.lock`;
  const file = await createAlone(unfinished, path);
  try {
    const text = formatKeysFile(change());
    parseKeysFile(path, text);
    writeFileSync(file, text);
    keepOwner(file, target);
    fsyncSync(file);
    putInPlace(unfinished, target);
  } catch (error) {
    rmSync(unfinished, { force: true });
    if (error instanceof StartError) throw error;
    throw refusal(path, `cannot be changed: ${messageOf(error)}`);
  } finally {
    closeSync(file);
  }
  // Only now: the name of the lock may be that of another process's already.
  syncFolder(dirname(target));
}

/** How long to wait for another process, which takes milliseconds for its change. */
const WAIT_MS = 5_000;
const RETRY_MS = 10;

/** Creates a file for its owner alone, once no other process has it. */
async function createAlone(path: string, keysPath: string): Promise<number> {
  for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
    try {
      return openSync(path, 'wx', 0o600);
    } catch (error) {
      if (!isTaken(error)) throw refusal(keysPath, `cannot be changed: ${messageOf(error)}`);
    }
    if (waitedMs >= WAIT_MS) {
      throw refusal(
        keysPath,
        `is being changed by another process: remove ${path} if none is, as after a crash`,
      );
    }
    // oxlint-disable-next-line no-await-in-loop -- the wait is what the loop is for
    await sleep(RETRY_MS);
  }
}

/** Whoever may read the old file may read the new one, and nobody else. */
function keepOwner(file: number, target: string): void {
  const old = statSync(target, { throwIfNoEntry: false });
  if (old === undefined) return;
  const { uid, gid } = fstatSync(file);
  if (uid !== old.uid || gid !== old.gid) fchownSync(file, old.uid, old.gid);
  fchmodSync(file, old.mode & 0o777);
}

/** The file has its name, or the old one stays. */
function putInPlace(unfinished: string, target: string): void {
  if (existsSync(target)) {
    renameSync(unfinished, target);
  } else {
    // A service that starts may have made one meanwhile: a link never replaces it.
    linkSync(unfinished, target);
    rmSync(unfinished);
  }
}
