import { Command } from 'commander';
import { FORMATS } from '../../transfer/formats.js';
import { DEFAULT_MAPPING, ON_NAN } from '../../transfer/mapping.js';
import { choice } from '../choice.js';
import type { ImportArguments } from '../remote/import-arguments.js';
import { delimiter } from '../delimiter.js';
import { seconds, wholeFrom } from '../numbers.js';
import { withServerOptions } from '../server-options.js';

const HELP = `
Formats, by the extension or --format; each of the first five also as .gz:
  .npy              NumPy, two-dimensional, in C order: floats, and whole numbers that are exact
  .fvecs .bvecs     vectors of 32-bit floats or of bytes, each behind its length
  .jsonl .ndjson    an object of JSON a line; vectors as arrays or base64 of 32-bit floats
  .csv .tsv         RFC 4180 with a header; a vector in a cell as [0.1, 0.2], {0.1,0.2} or base64
  .parquet          needs the package hyparquet (and hyparquet-compressors for gzip, zstd, ...)
  .arrow .feather   not compressed; needs the package apache-arrow

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
  0  every row is stored
  1  it failed, or rows were rejected
  2  the arguments cannot be used
  130, 143  SIGINT or SIGTERM ended it: the same command goes on

Examples:
  vectord import embeddings.npy --texts texts.txt
  vectord import docs.jsonl.gz --content text --metadata-columns year,lang
  vectord import rows.csv --vector-columns 'dim_*' --metadata-columns year:number,title
  vectord import table.parquet --id doc_id --url http://10.0.0.5:3000 --key-file key.txt
`;

/** `vectord import FILE`. */
export function importCommand(): Command {
  const { id, vector, content, contentType, metadata } = DEFAULT_MAPPING;
  const command = new Command('import')
    .summary('store the rows of a file in a running service')
    .description('Stores the rows of a file as points in a service that runs.')
    .argument('<FILE>', 'vectors, or rows with a vector each')
    .addOption(choice('--format <FORMAT>', 'what the file is', FORMATS))
    .option('--id <COLUMN>', 'the column of ids', id)
    .option('--vector <COLUMN>', 'the column of vectors', vector)
    .option('--vector-columns <PATTERN>', 'a column for each value, * for its number: dim_*')
    .option('--content <COLUMN>', 'the column of contents', content)
    .option('--content-type <COLUMN>', 'the column of Text or Image', contentType)
    .option('--metadata <COLUMN>', 'the column of objects of JSON', metadata)
    .option(
      '--metadata-columns <COLUMNS>',
      'columns that become fields of the metadata: a,b,c; with :number, :boolean, :json or :text ' +
        'behind a name its text is read so (cells of CSV are text otherwise, empty ones left out)',
    )
    .option(
      '--texts <FILE>',
      'for .npy, .fvecs, .bvecs: a line for each row, objects if named .jsonl, else contents',
    )
    .option(
      '--delimiter <CHARACTER>',
      'between the cells of CSV, tab for a tab (default: a comma, of .tsv a tab)',
      delimiter,
    )
    .addOption(
      choice(
        '--nan <WHAT>',
        'what NaN in a column of numbers (such as year:number) is: empty leaves it out',
        ON_NAN,
      ),
    )
    .option('--source-name <NAME>', 'what ids of rows without one are made of; the file by default')
    .option('--rejects <FILE>', 'where rejected rows are listed')
    .option('--max-rejects <COUNT>', 'stops at more of them', wholeFrom(0), 1_000)
    .option('--state <FILE>', 'where the place to go on is kept')
    .option('--restart', 'begins anew, whatever an earlier import has done')
    .option('--if-absent', 'leaves points alone whose ids are there')
    .option('--window <COUNT>', 'requests under way at one time (default: 4)', wholeFrom(1))
    .option('--patience <SECONDS>', 'how long a request is repeated (default: 60)', seconds)
    .addHelpText('after', HELP);
  return withServerOptions(command).action(async (file: string, options: ImportArguments) => {
    const { runImport } = await import('../remote/run-import.js');
    await runImport(file, options, command);
  });
}
