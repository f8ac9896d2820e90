import { Command, InvalidArgumentError } from 'commander';
import type { Filter } from '../../client/model.js';
import { FORMATS } from '../../transfer/formats.js';
import { DEFAULT_MAPPING } from '../../transfer/mapping.js';
import { choice } from '../choice.js';
import type { BenchArguments } from '../remote/bench-arguments.js';
import { delimiter } from '../delimiter.js';
import { jsonObject, seconds, wholeFrom } from '../numbers.js';
import { withServerOptions } from '../server-options.js';

const SIMILARITIES = ['Cosine', 'Euclidean', 'Manhattan', 'Hamming'] as const;

const HELP = `
What it does:
  It takes the vectors of FILE as queries, in any format of "vectord import", or without a file a
  sample of the stored points, whose neighbours are easier to find than those of real queries. It
  waits until the graph of the similarity is ready, has the service answer each query exactly, and
  then measures each ef: the recall of all queries against the exact answers (a point as near as the
  last true neighbour counts as found), and latency and throughput as this client sees them. An ef
  below k counts as k.
  It stores nothing, but the first search of a similarity begins its graph. Below some 1,500 points
  a service compares all of them, whatever the ef: every recall is 1 then.

Exit codes:
  0  it is done
  1  it failed
  2  the arguments cannot be used
  130, 143  SIGINT or SIGTERM ended it, and what was measured is printed

Examples:
  vectord bench queries.npy
  vectord bench --k 100 --ef 100,200,400 --concurrency 16
  vectord bench queries.jsonl --similarity Euclidean --filter '{"lang": "de"}' --json
`;

/** `vectord bench [FILE]`. */
export function benchCommand(): Command {
  const command = new Command('bench')
    .summary('measure recall and speed of a running service with your vectors')
    .description('Measures recall, latency and throughput of a service that runs.')
    .argument('[FILE]', 'vectors to search for; a sample of the stored points by default')
    .addOption(choice('--format <FORMAT>', 'what the file is', FORMATS))
    .option('--vector <COLUMN>', 'the column of vectors', DEFAULT_MAPPING.vector)
    .option(
      '--delimiter <CHARACTER>',
      'between the cells of CSV, tab for a tab (default: a comma, of .tsv a tab)',
      delimiter,
    )
    .option('--queries <COUNT>', 'the most queries', wholeFrom(1), 200)
    .addOption(choice('--similarity <NAME>', 'which is measured', SIMILARITIES).default('Cosine'))
    .option('--k <COUNT>', 'neighbours of a search', wholeFrom(1), 10)
    .option('--ef <LIST>', 'search breadths, between commas', efs, [10, 20, 50, 100, 200, 400])
    .option('--concurrency <COUNT>', 'searches under way at one time', wholeFrom(1), 4)
    .option('--seconds <SECONDS>', 'how long each ef is measured', seconds, 3)
    .option('--filter <JSON>', 'searches only points that pass', jsonObject<Filter>)
    .option('--json', 'prints one object of JSON in place of the table')
    .addHelpText('after', HELP);
  return withServerOptions(command).action(
    async (file: string | undefined, options: BenchArguments) => {
      const { runBench } = await import('../remote/run-bench.js');
      await runBench(file, options, command);
    },
  );
}

function efs(text: string): readonly number[] {
  const numbers = text.split(',').map((part) => (/^\d+$/.test(part) ? Number(part) : 0));
  if (numbers.every((number) => Number.isSafeInteger(number) && number > 0)) return numbers;
  throw new InvalidArgumentError('Expected whole numbers between commas, each at least 1.');
}
