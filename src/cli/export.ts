import { Command, Option } from 'commander';
import type { Filter } from '../client/model.js';
import { EXIT_OK } from '../core/start-error.js';
import { exportPoints } from '../transfer/export.js';
import { FORMATS, type Format } from '../transfer/formats.js';
import { Bar, formatCount } from './bar.js';
import { jsonObject } from './numbers.js';
import { runRemote } from './remote.js';
import { withServerOptions, type ServerOptions } from './server-options.js';

const HELP = `
Formats, by the extension or --format; .fvecs, .jsonl and .csv also as .gz:
  .jsonl .ndjson    all of a point, bit for bit
  .csv              all of a point; a vector and the metadata are JSON in a cell
  .parquet          all of a point, metadata as text; needs "npm install hyparquet-writer"
  .arrow .feather   all of a point, metadata as text; needs "npm install apache-arrow"
  .npy .fvecs       the vectors; ids, contents and metadata go to FILE.texts.jsonl, a line for each

"vectord import" reads each of them back to the same points. Of .npy and .fvecs it is given both
files: vectord import all.npy --texts all.npy.texts.jsonl

Points come oldest first. One that is written meanwhile may come twice: the later one is the newer.
The file is FILE.partial until it is whole. What is there is not replaced without --force.

Exit codes:
  0  all is written      1  it failed, and nothing was written
  2  wrong arguments     130, 143  ended by SIGINT or SIGTERM: nothing was written

Examples:
  vectord export all.jsonl.gz
  vectord export german.parquet --filter '{"lang": "de", "year": {"$gte": 2020}}'
  vectord export vectors.npy --url http://10.0.0.5:3000 --key-file key.txt
`;

interface Options extends ServerOptions {
  readonly format?: Format;
  readonly filter?: Filter;
  readonly base64: boolean;
  readonly force: boolean;
}

/** `vectord export FILE`. */
export function exportCommand(): Command {
  const command = new Command('export')
    .summary('write the points of a running service to a file')
    .description('Writes the points of a service that runs to a file.')
    .argument('<file>', 'the file that is made')
    .addOption(new Option('--format <format>', 'what the file is').choices(FORMATS))
    .option(
      '--filter <json>',
      'only points that pass, as docs/FILTERS.md has it',
      jsonObject<Filter>,
    )
    .option(
      '--base64',
      'vectors in JSON and CSV as base64 of 32-bit floats, a third as long',
      false,
    )
    .option('--force', 'replaces a file that is there', false)
    .addHelpText('after', HELP);
  return withServerOptions(command).action(async (path: string, options: Options) => {
    await runRemote(options, command, async (client, { signal: stopping }) => {
      const bar = new Bar('points');
      const { format, filter, base64, force: isForced } = options;
      const vectors = base64 ? 'base64' : 'array';
      const onProgress = (points: number, total: number): void => bar.at(points, points / total);
      try {
        const { points, paths } = await exportPoints(client, {
          path,
          format,
          filter,
          vectors,
          isForced,
          stopping,
          onProgress,
        });
        bar.clear();
        process.stdout.write(`${formatCount(points)} points written to ${paths.join(' and ')}\n`);
        return EXIT_OK;
      } finally {
        bar.clear();
      }
    });
  });
}
