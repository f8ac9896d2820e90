import { resolve } from 'node:path';
import type { Command } from './help.js';
import {
  backupFolder,
  checkFolder,
  FolderError,
  repairFolder,
  restoreFolder,
  type FolderEvent,
  type FolderReport,
} from '../engine/folder.js';
import { EXIT_DAMAGED, EXIT_IN_USE, EXIT_OK, EXIT_REFUSED } from '../core/start-error.js';
import { formatBytes } from './bytes.js';
import { Progress } from './progress.js';

export type MaintenanceCommand = Extract<Command, { readonly folder: unknown }>;

/** The codes of the engine that have an exit code of their own. */
const EXIT_CODES: ReadonlyMap<string, number> = new Map([
  ['DAMAGED', EXIT_DAMAGED],
  ['LOCKED', EXIT_IN_USE],
]);

/**
 * Checks, backs up, restores or repairs a data folder and returns the exit code. What is found goes to the
 * standard output; how far the work is, and why it failed, to the standard error.
 */
export async function maintain(command: MaintenanceCommand, dataPath: string): Promise<number> {
  try {
    return await run(command, resolve(dataPath));
  } catch (error) {
    if (!(error instanceof FolderError)) throw error;
    process.stderr.write(`vectord ${command.name} failed: ${error.message}\n`);
    return EXIT_CODES.get(error.code) ?? EXIT_REFUSED;
  }
}

async function run(command: MaintenanceCommand, dataPath: string): Promise<number> {
  switch (command.name) {
    case 'check':
      return await check(resolve(command.folder ?? dataPath));
    case 'backup':
      return await backup(dataPath, resolve(command.folder));
    case 'restore':
      return await restore(resolve(command.folder), dataPath);
    case 'repair':
      return await repair(resolve(command.folder), resolve(command.into));
  }
}

async function check(path: string): Promise<number> {
  const report = await checkFolder(path, reporter('checked'));
  const { damages } = report;
  tell(`${path}: ${describe(report)}`);
  if (damages === 0) {
    tell('no damage');
    return EXIT_OK;
  }
  tell(damages === 1 ? '1 damaged place' : `${damages} damaged places`);
  return EXIT_DAMAGED;
}

async function backup(dataPath: string, target: string): Promise<number> {
  const report = await backupFolder(dataPath, target, reporter('copied'));
  const { segments, linked, bytes, lastSequence } = report;
  tell(`backed up ${dataPath} into ${target}, up to sequence ${lastSequence}:`);
  tell(`${segments} segments, of which ${linked} linked, ${formatBytes(bytes)}`);
  return EXIT_OK;
}

async function restore(source: string, dataPath: string): Promise<number> {
  const report = await restoreFolder(source, dataPath, reporter('verified or copied'));
  tell(`restored ${source} into ${dataPath}:`);
  tell(describe(report));
  return EXIT_OK;
}

async function repair(source: string, target: string): Promise<number> {
  const report = await repairFolder(source, target, reporter('read or written'));
  const { points, bytes, damages, lostPoints, lostRecords, isEndLost, outdated, losses } = report;
  tell(`repaired ${source} into ${target}:`);
  tell(`${points} points saved, ${formatBytes(bytes)}; ${damages} damaged places`);
  tell(`${lostPoints} points lost, and ${lostRecords} records of which nothing is known`);
  if (isEndLost) tell('the end of the log may be lost, with any number of records');
  if (outdated > 0) tell(`${outdated} of the points may have been deleted by what is lost`);
  tell(`${losses} lists what is lost`);
  return EXIT_OK;
}

function describe({ segments, records, points, bytes }: FolderReport): string {
  return `${segments} segments, ${records} records, ${points} points, ${formatBytes(bytes)}`;
}

/** Writes what is told while the work goes on. */
function reporter(done: string): (event: FolderEvent) => void {
  const progress = new Progress(done, process.stderr);
  return ({ damage, note, doneBytes, totalBytes }) => {
    if (damage !== undefined) tell(damage);
    if (note !== undefined) tell(`note: ${note}`);
    if (doneBytes !== undefined && totalBytes !== undefined) progress.at(doneBytes, totalBytes);
  };
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}
