import { Command } from 'commander';
import type { Filter } from '../../client/model.js';
import { FORMATS } from '../../transfer/formats.js';
import { choice } from '../choice.js';
import type { ExportArguments } from '../remote/export-arguments.js';
import { jsonObject } from '../numbers.js';
import { pathArgument } from '../path-argument.js';
import { withServerOptions } from '../server-options.js';

const HELP = `
Formats, by the extension or --format; .fvecs, .jsonl and .csv also as .gz:
  .jsonl .ndjson    all of a point, bit for bit
  .csv              all of a point; a vector and the metadata are JSON in a cell
  .parquet          all of a point, metadata as text; needs the package hyparquet-writer
  .arrow .feather   all of a point, metadata as text; needs the package apache-arrow
  .npy .fvecs       the vectors; ids, contents and metadata go to FILE.texts.jsonl, a line for each

"vectord import" reads each of them back to the same points. Of .npy and .fvecs it is given both
files: vectord import all.npy --texts all.npy.texts.jsonl

Points come oldest first. One that is written meanwhile may come twice: the later one is the newer.
The file is FILE.partial until it is whole. What is there is not replaced without --force, and with
it only a file; of a link what it points at.

Exit codes:
  0  all is written
  1  it failed, and no file was made or replaced
  2  the arguments cannot be used
  130, 143  SIGINT or SIGTERM ended it, and no file was made or replaced

Examples:
  vectord export all.jsonl.gz
  vectord export german.parquet --filter '{"lang": "de", "year": {"$gte": 2020}}'
  vectord export vectors.npy --url http://10.0.0.5:3000 --key-file key.txt
`;

/** .bvecs holds bytes, and vectors are floats. */
const WRITTEN = FORMATS.filter((format) => format !== 'bvecs');

/** `vectord export FILE`. */
export function exportCommand(): Command {
  const command = new Command('export')
    .summary('write the points of a running service to a file')
    .description('Writes the points of a service that runs to a file.')
    .argument('<FILE>', 'the file that is made', pathArgument)
    .addOption(choice('--format <FORMAT>', 'what the file is', WRITTEN))
    .option(
      '--filter <JSON>',
      'only points that pass, as docs/FILTERS.md has it',
      jsonObject<Filter>,
    )
    .option(
      '--base64',
      'vectors in JSON and CSV as base64 of 32-bit floats, about a quarter as long',
    )
    .option('--force', 'replaces a file that is there')
    .addHelpText('after', HELP);
  return withServerOptions(command).action(async (path: string, options: ExportArguments) => {
    const { runExport } = await import('../remote/run-export.js');
    await runExport(path, options, command);
  });
}
