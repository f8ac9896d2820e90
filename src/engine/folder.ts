import native from '../../native/index.cjs';
import { asEngineError } from './errors.js';

export type FolderEvent = native.FolderEvent;
export type FolderReport = native.FolderReport;
export type BackupReport = native.BackupReport;
export type RepairReport = native.RepairReport;
export type AdoptedReplica = native.AdoptedReplica;

/** Work on a data folder that failed, with the engine's stable name of the reason. */
export class FolderError extends Error {
  override readonly name = 'FolderError';

  constructor(
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Whether something failed, here or in an engine, since a data folder is damaged. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && error.code === 'DAMAGED') || isDamage(error.cause);
}

type OnFolderEvent = (event: FolderEvent) => void;

/** Verifies a data folder that no process has open; changes nothing. */
export async function checkFolder(path: string, onEvent: OnFolderEvent): Promise<FolderReport> {
  return await translateFolder(() => native.checkFolder(path, onEvent));
}

/** Backs up a data folder, also one that is being served, into one that is missing or empty. */
export async function backupFolder(
  source: string,
  target: string,
  onEvent: OnFolderEvent,
): Promise<BackupReport> {
  return await translateFolder(() => native.backupFolder(source, target, onEvent));
}

/** Verifies a backup and copies it into a data folder that is missing or empty. */
export async function restoreFolder(
  source: string,
  target: string,
  onEvent: OnFolderEvent,
): Promise<FolderReport> {
  return await translateFolder(() => native.restoreFolder(source, target, onEvent));
}

/** Saves the points of a damaged data folder into one that is missing or empty. */
export async function repairFolder(
  source: string,
  target: string,
  onEvent: OnFolderEvent,
): Promise<RepairReport> {
  return await translateFolder(() => native.repairFolder(source, target, onEvent));
}

/** Verifies a backup of a replica and turns it, in place, into the store of another one. */
export async function adoptReplica(
  folder: string,
  onEvent: OnFolderEvent,
): Promise<AdoptedReplica> {
  return await translateFolder(() => native.adoptReplica(folder, onEvent));
}

async function translateFolder<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const { code = '', message } = asEngineError(error);
    throw new FolderError(code, message, { cause: error });
  }
}
