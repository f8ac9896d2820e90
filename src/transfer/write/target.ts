import { lstatSync, realpathSync, statSync, type Stats } from 'node:fs';
import { messageOf } from '../../core/start-error.js';
import { TransferError } from '../transfer-error.js';

/** The file that is written where a path is given: what a link points at. Refuses what is no file. */
export function targetOf(path: string): string {
  const entry = lookedAt(path, lstatSync);
  if (entry?.isSymbolicLink() !== true) return checked(path, entry);
  checked(path, lookedAt(path, statSync) ?? entry);
  return realpathSync(path);
}

function lookedAt(path: string, look: typeof lstatSync): Stats | undefined {
  try {
    return look(path, { throwIfNoEntry: false });
  } catch (error) {
    throw new TransferError(`${path} cannot be written: ${messageOf(error)}`);
  }
}

function checked(path: string, found: Stats | undefined): string {
  if (found === undefined || found.isFile()) return path;
  throw new TransferError(
    `${path} is ${kindOf(found)}, and nothing was changed: expected the name of a file, which is ` +
      'made, or replaced with --force',
  );
}

function kindOf(found: Stats): string {
  if (found.isSymbolicLink()) return 'a link to nothing';
  if (found.isDirectory()) return 'a folder';
  if (found.isFIFO()) return 'a pipe';
  return found.isSocket() ? 'a socket' : 'a device';
}
