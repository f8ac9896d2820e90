import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import { EXIT_OK, EXIT_REFUSED, messageOf } from '../../core/start-error.js';
import { visibleLines } from '../../core/visible.js';
import { importRows, type ImportSummary } from '../../transfer/import.js';
import { ImportState, type Fingerprint } from '../../transfer/import-state.js';
import { parseMetadataColumns, type Mapping } from '../../transfer/mapping.js';
import { openSource } from '../../transfer/source.js';
import { TransferError, UsageError } from '../../transfer/transfer-error.js';
import type { ImportArguments } from './import-arguments.js';
import { formatCount, formatCounted } from '../count.js';
import { Bar } from './bar.js';
import { runRemote } from './run-remote.js';

/** Does what `vectord import` asks for, and sets the exit code. */
export async function runImport(
  file: string,
  options: ImportArguments,
  command: Command,
): Promise<void> {
  await runRemote(options, command, async (client, { signal: stopping }) => {
    const mapping = mappingOf(options);
    const { format, texts, delimiter } = options;
    const rejectsPath = options.rejects ?? `${file}.rejected.jsonl`;
    const statePath = options.state ?? `${file}.vectord-import.json`;
    checkDistinct({ FILE: file, '--texts': texts, '--state': statePath, '--rejects': rejectsPath });
    const fingerprint = fingerprintOf(file, options, mapping);
    const source = await openSource({ path: file, format, texts, delimiter, mapping });
    const bar = new Bar('rows');
    try {
      const summary = await importRows(client, source, {
        mapping,
        sourceName: sourceNameOf(file, options),
        state: new ImportState(statePath, fingerprint),
        isRestart: options.restart === true,
        rejectsPath,
        maxRejects: options.maxRejects,
        ifAbsent: options.ifAbsent === true,
        window: options.window,
        patienceMs: options.patience === undefined ? undefined : options.patience * 1000,
        stopping,
        onProgress: ({ rows, share }) => bar.at(rows, share),
      });
      bar.clear();
      return report(summary, rejectsPath);
    } finally {
      bar.clear();
      await source.close();
    }
  });
}

function mappingOf(options: ImportArguments): Mapping {
  const { id, vector, content, contentType, metadata, vectorColumns, metadataColumns } = options;
  if (vectorColumns !== undefined && vectorColumns.split('*').length !== 2) {
    throw new UsageError(`--vector-columns is "${vectorColumns}", expected one * in it: dim_*`);
  }
  return {
    id,
    vector,
    vectorColumns,
    content,
    contentType,
    metadata,
    metadataColumns: metadataColumns === undefined ? [] : parseMetadataColumns(metadataColumns),
    nan: options.nan ?? 'refused',
  };
}

/** Refuses two names of one file, which would be read and written at once. */
function checkDistinct(paths: Readonly<Record<string, string | undefined>>): void {
  const names = new Map<string, string>();
  for (const [name, path] of Object.entries(paths)) {
    if (path === undefined) continue;
    const real = existsSync(path) ? realpathSync(path) : resolve(path);
    const other = names.get(real);
    if (other !== undefined) throw new UsageError(`${other} and ${name} are one file, ${path}`);
    names.set(real, name);
  }
}

function sourceNameOf(file: string, { sourceName }: ImportArguments): string {
  return sourceName ?? basename(file);
}

/** What an import has in common with the one that it goes on with. */
function fingerprintOf(file: string, options: ImportArguments, mapping: Mapping): Fingerprint {
  const { url, format, texts, delimiter, ifAbsent } = options;
  return {
    file: stampOf(file),
    texts: texts === undefined ? null : stampOf(texts),
    service: url,
    'source name': sourceNameOf(file, options),
    options: { format, delimiter, ifAbsent, mapping },
  };
}

/** What tells a file from another of its name. */
function stampOf(path: string): object {
  try {
    const { size, mtimeMs } = statSync(path);
    return { size, mtimeMs };
  } catch (error) {
    throw new TransferError(`${path} cannot be read: ${messageOf(error)}`);
  }
}

function report(summary: ImportSummary, rejectsPath: string): number {
  const { rows, before, stored, replaced, kept, rejected, firstRejected, stoppedBy } = summary;
  if (before > 0) say(`went on behind row ${formatCount(before)}, up to which all was done`);
  const parts = [
    `${formatCounted(stored, 'point')} stored`,
    `${formatCount(replaced)} replaced`,
    ...(kept > 0 ? [`${formatCount(kept)} kept as they were`] : []),
    `${formatCounted(rejected, 'row')} rejected`,
  ];
  say(parts.join(', '));
  if (firstRejected !== undefined) {
    say(`row ${formatCount(firstRejected.row)} was rejected: ${firstRejected.reason}`);
  }
  if (rejected > 0) say(`rejected rows, with reasons: ${rejectsPath}`);
  sayUnused(summary.unused);
  if (stoppedBy === undefined) return rejected === 0 ? EXIT_OK : EXIT_REFUSED;
  const [why, how] =
    stoppedBy === 'signal'
      ? ['by a signal', '']
      : ['since too many rows were rejected', ' with a greater --max-rejects'];
  say(`stopped behind row ${formatCount(rows)}, ${why}: the same command${how} goes on from there`);
  return EXIT_REFUSED;
}

/** Names columns that a reader may have meant to store. */
function sayUnused(columns: readonly string[]): void {
  if (columns.length === 0) return;
  const shown = columns.slice(0, MOST_SHOWN).join(', ');
  const more = columns.length > MOST_SHOWN ? ` and ${columns.length - MOST_SHOWN} more` : '';
  say(`columns that were not stored: ${shown}${more} (--content, --metadata-columns, ...)`);
}

/** Columns that a line lists; a file may have hundreds. */
const MOST_SHOWN = 20;

function say(text: string): void {
  process.stdout.write(`${visibleLines(text)}\n`);
}
