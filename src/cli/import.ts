import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { Command, Option } from 'commander';
import { EXIT_OK, EXIT_REFUSED, messageOf } from '../core/start-error.js';
import { FORMATS, type Format } from '../transfer/formats.js';
import { importRows, type ImportSummary } from '../transfer/import.js';
import { ImportState, type Fingerprint } from '../transfer/import-state.js';
import { DEFAULT_MAPPING, parseMetadataColumns, type Mapping } from '../transfer/mapping.js';
import { openSource } from '../transfer/source.js';
import { TransferError, UsageError } from '../transfer/transfer-error.js';
import { Bar, formatCount } from './bar.js';
import { seconds, wholeFrom } from './numbers.js';
import { runRemote } from './remote.js';
import { withServerOptions, type ServerOptions } from './server-options.js';

const HELP = `
Formats, by the extension or --format; each of the first five also as .gz:
  .npy              NumPy, two-dimensional, in C order: float32, float64, float16, uint8, int8
  .fvecs .bvecs     vectors of 32-bit floats or of bytes, each behind its length
  .jsonl .ndjson    an object of JSON a line; vectors as arrays or base64 of 32-bit floats
  .csv              RFC 4180 with a header; a vector as an array of JSON or base64 in a cell
  .parquet          needs "npm install hyparquet" (and hyparquet-compressors for gzip, zstd, ...)
  .arrow .feather   not compressed; needs "npm install apache-arrow"

Ids:
  A UUID is kept. Another id becomes a UUID of its own, always the same (idFor of the client). A row
  without an id gets that of the text NAME#ROW, where NAME is the name of the file without its
  folder, or --source-name, and ROW counts from 1 (in .jsonl it is the line). So a repeated import
  stores no row twice. Of rows with one id the last one stays.

Bad rows:
  A row that the service would refuse is not sent. FILE.rejected.jsonl gets its number and the reason.

An import that was cut off, by whatever:
  The same command goes on where every row before is stored: FILE.vectord-import.json has the place.

Exit codes:
  0  every row is stored       1  it failed, or rows were rejected
  2  wrong arguments           130, 143  ended by SIGINT or SIGTERM: the same command goes on

Examples:
  vectord import embeddings.npy --texts texts.txt
  vectord import docs.jsonl.gz --content text --metadata-columns year,lang
  vectord import rows.csv --vector-columns 'dim_*' --metadata-columns year:number,title
  vectord import table.parquet --id doc_id --url http://10.0.0.5:3000 --key-file key.txt
`;

interface Options extends ServerOptions {
  readonly format?: Format;
  readonly id: string;
  readonly vector: string;
  readonly vectorColumns?: string;
  readonly content: string;
  readonly contentType: string;
  readonly metadata: string;
  readonly metadataColumns?: string;
  readonly texts?: string;
  readonly delimiter: string;
  readonly sourceName?: string;
  readonly rejects?: string;
  readonly maxRejects: number;
  readonly state?: string;
  readonly restart: boolean;
  readonly ifAbsent: boolean;
  readonly window?: number;
  readonly patience?: number;
}

/** `vectord import FILE`. */
export function importCommand(): Command {
  const { id, vector, content, contentType, metadata } = DEFAULT_MAPPING;
  const command = new Command('import')
    .summary('store the rows of a file in a running service')
    .description('Stores the rows of a file as points in a service that runs.')
    .argument('<file>', 'vectors, or rows with a vector each')
    .addOption(new Option('--format <format>', 'what the file is').choices(FORMATS))
    .option('--id <column>', 'the column of ids', id)
    .option('--vector <column>', 'the column of vectors', vector)
    .option('--vector-columns <pattern>', 'a column for each value, * for its number: dim_*')
    .option('--content <column>', 'the column of contents', content)
    .option('--content-type <column>', 'the column of Text or Image', contentType)
    .option('--metadata <column>', 'the column of objects of JSON', metadata)
    .option(
      '--metadata-columns <columns>',
      'columns that become fields of the metadata: a,b,c; with :number, :boolean, :json or :text ' +
        'behind a name its text is read so (cells of CSV are text otherwise, empty ones left out)',
    )
    .option(
      '--texts <file>',
      'for .npy, .fvecs, .bvecs: a line for each row, objects if named .jsonl, else contents',
    )
    .option('--delimiter <character>', 'between the cells of CSV', ',')
    .option('--source-name <name>', 'what ids of rows without one are made of; the file by default')
    .option('--rejects <file>', 'where rejected rows are listed')
    .option('--max-rejects <count>', 'stops at more of them', wholeFrom(0), 1_000)
    .option('--state <file>', 'where the place to go on is kept')
    .option('--restart', 'begins anew, whatever an earlier import has done', false)
    .option('--if-absent', 'leaves points alone whose ids are there', false)
    .option('--window <count>', 'requests under way at one time (4)', wholeFrom(1))
    .option('--patience <seconds>', 'how long a request is repeated (60)', seconds)
    .addHelpText('after', HELP);
  return withServerOptions(command).action(async (file: string, options: Options) => {
    await runRemote(options, command, async (client, { signal: stopping }) => {
      const mapping = mappingOf(options);
      const { format, texts, delimiter } = options;
      const fingerprint = fingerprintOf(file, options, mapping);
      const source = await openSource({ path: file, format, texts, delimiter, mapping });
      const bar = new Bar('rows');
      try {
        const rejectsPath = options.rejects ?? `${file}.rejected.jsonl`;
        const summary = await importRows(client, source, {
          mapping,
          sourceName: sourceNameOf(file, options),
          state: new ImportState(options.state ?? `${file}.vectord-import.json`, fingerprint),
          isRestart: options.restart,
          rejectsPath,
          maxRejects: options.maxRejects,
          ifAbsent: options.ifAbsent,
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
  });
}

function mappingOf(options: Options): Mapping {
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
  };
}

function sourceNameOf(file: string, { sourceName }: Options): string {
  return sourceName ?? basename(file);
}

/** What an import has in common with the one that it goes on with. */
function fingerprintOf(file: string, options: Options, mapping: Mapping): Fingerprint {
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
  const { rows, before, stored, replaced, kept, rejected, stoppedBy } = summary;
  if (before > 0) say(`went on behind row ${formatCount(before)}, up to which all was done`);
  const parts = [
    `${formatCount(stored)} points stored`,
    `${formatCount(replaced)} replaced`,
    ...(kept > 0 ? [`${formatCount(kept)} kept as they were`] : []),
    `${formatCount(rejected)} rows rejected`,
  ];
  say(parts.join(', '));
  if (rejected > 0) say(`rejected rows, with reasons: ${rejectsPath}`);
  if (stoppedBy === undefined) return rejected === 0 ? EXIT_OK : EXIT_REFUSED;
  const why = stoppedBy === 'signal' ? 'by a signal' : 'since too many rows were rejected';
  say(`stopped behind row ${formatCount(rows)}, ${why}: the same command goes on from there`);
  return EXIT_REFUSED;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
