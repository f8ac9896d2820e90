// What `check`, `backup`, `restore` and `repair` do. What is found goes to the standard output; how
// far the work is, and why it failed, to the standard error.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { nodeFile } from '../config/data-folder.js';
import {
  backupFolder,
  checkFolder,
  FolderError,
  repairFolder,
  restoreFolder,
  type FolderEvent,
  type FolderReport,
} from '../engine/folder.js';
import {
  EXIT_DAMAGED,
  EXIT_IN_USE,
  EXIT_OK,
  EXIT_REFUSED,
  StartError,
} from '../core/start-error.js';
import { formatBytes } from './bytes.js';
import { formatCounted } from './count.js';
import { Progress } from './progress.js';

/** The codes of the engine that have an exit code of their own. */
const EXIT_CODES: ReadonlyMap<string, number> = new Map([
  ['DAMAGED', EXIT_DAMAGED],
  ['LOCKED', EXIT_IN_USE],
]);

/** Verifies a folder, the data folder unless another one is named, and answers the exit code. */
export async function check(folder: string | undefined, dataPath: string): Promise<number> {
  const path = folder === undefined ? presentData(dataPath) : present(folder);
  const report = await refusing(checkFolder(path, reporter('checked')));
  const { damages } = report;
  tell(`${path}: ${describe(report)}`);
  if (damages === 0) {
    tell('no damage');
    return EXIT_OK;
  }
  tell(formatCounted(damages, 'damaged place'));
  tell(`a backup helps, or \`vectord repair ${path} --into NEW\`, which saves what is sound`);
  return EXIT_DAMAGED;
}

/** Backs a data folder up into another folder. */
export async function backup(dataPath: string, folder: string): Promise<void> {
  const [source, target] = [presentData(dataPath), resolve(folder)];
  const report = await refusing(backupFolder(source, target, reporter('copied')));
  const { segments, linked, bytes, lastSequence } = report;
  tell(`backed up ${source} into ${target}, up to sequence ${lastSequence}:`);
  tell(`${formatCounted(segments, 'segment')}, of which ${linked} linked, ${formatBytes(bytes)}`);
}

/** Copies a backup into a data folder. */
export async function restore(folder: string, dataPath: string): Promise<void> {
  const [source, target] = [present(folder), resolve(dataPath)];
  const report = await refusing(restoreFolder(source, target, reporter('verified or copied')));
  tell(`restored ${source} into ${target}:`);
  tell(describe(report));
}

/** Saves what is sound in a folder into another one. */
export async function repair(folder: string, into: string): Promise<void> {
  const [source, target] = [present(folder), resolve(into)];
  const report = await refusing(repairFolder(source, target, reporter('read or written')));
  const { points, bytes, damages, lostPoints, lostRecords, isEndLost, outdated, losses } = report;
  tell(`repaired ${source} into ${target}:`);
  const [saved, places] = [formatCounted(points, 'point'), formatCounted(damages, 'damaged place')];
  tell(`${saved} saved, ${formatBytes(bytes)}; ${places}`);
  const [lost, unknown] = [
    formatCounted(lostPoints, 'point'),
    formatCounted(lostRecords, 'record'),
  ];
  tell(`${lost} lost, and ${unknown} of which nothing is known`);
  if (isEndLost) tell('the end of the log may be lost, with any number of records');
  if (outdated > 0) tell(`${outdated} of the points may have been deleted by what is lost`);
  tell(`${losses} lists what is lost`);
}

function presentData(dataPath: string): string {
  return present(dataPath, 'data folder', ': set DATA_PATH as for the service');
}

/** The absolute path of a folder; one that is not there is refused. */
function present(folder: string, what = 'folder', remedy = ''): string {
  const path = resolve(folder);
  try {
    statSync(path);
  } catch (error) {
    // The engine tells of whatever else is wrong with it.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return path;
    throw new StartError(`there is no ${what} ${path}${remedy}`);
  }
  if (existsSync(nodeFile(path))) throw isOfNode(path);
  return path;
}

/** The points of a node of a cluster are in a folder below its own. */
function isOfNode(path: string): StartError {
  const shard = readdirSync(path).find((name) => /^shard-\d+$/.test(name));
  return new StartError(
    `the folder ${path} is that of a node of a cluster: ` +
      (shard === undefined
        ? 'it has no points'
        : `its points are in ${join(path, shard)}, name that (DATA_PATH for \`backup\`)`),
  );
}

/** Why the work failed, with the exit code of the reason. */
async function refusing<Report>(work: Promise<Report>): Promise<Report> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof FolderError)) throw error;
    const exitCode = EXIT_CODES.get(error.code) ?? EXIT_REFUSED;
    throw new StartError(error.message, exitCode, { cause: error });
  }
}

function describe({ segments, records, points, bytes }: FolderReport): string {
  return [
    formatCounted(segments, 'segment'),
    formatCounted(records, 'record'),
    formatCounted(points, 'point'),
    formatBytes(bytes),
  ].join(', ');
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
