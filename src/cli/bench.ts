import { Command, InvalidArgumentError, Option } from 'commander';
import type { Client } from '../client/interface.js';
import type { Filter, Info, Similarity } from '../client/model.js';
import { EXIT_OK } from '../core/start-error.js';
import { Bench, type BenchRow } from '../measure/bench.js';
import { sampledTargets, targetsIn, type Target } from '../measure/queries.js';
import { FORMATS, type Format } from '../transfer/formats.js';
import { DEFAULT_MAPPING } from '../transfer/mapping.js';
import { openSource } from '../transfer/source.js';
import { TransferError } from '../transfer/transfer-error.js';
import { Bar, formatCount } from './bar.js';
import { jsonObject, seconds, wholeFrom } from './numbers.js';
import { runRemote } from './remote.js';
import { withServerOptions, type ServerOptions } from './server-options.js';
import { tableOf } from './table.js';

const SIMILARITIES = ['Cosine', 'Euclidean', 'Manhattan', 'Hamming'] as const;

const HELP = `
What it does:
  It takes the vectors of FILE as queries, in any format of "vectord import", or without a file a
  sample of the stored points, whose neighbours are easier to find than those of real queries. It
  waits until the graph of the similarity is ready, has the service answer each query exactly, and
  then measures each ef: the recall of all queries against the exact answers (a point as near as the
  last true neighbour counts as found), and latency and throughput as this client sees them.
  It stores nothing, but the first search of a similarity begins its graph. Below some 1,500 points
  a service compares all of them, whatever the ef: every recall is 1 then.

Exit codes:
  0  it is done              1  it failed
  2  wrong arguments         130, 143  ended by SIGINT or SIGTERM: what was measured is printed

Examples:
  vectord bench queries.npy
  vectord bench --k 100 --ef 100,200,400 --concurrency 16
  vectord bench queries.jsonl --similarity Euclidean --filter '{"lang": "de"}' --json
`;

interface Options extends ServerOptions {
  readonly format?: Format;
  readonly vector: string;
  readonly delimiter: string;
  readonly queries: number;
  readonly similarity: Similarity;
  readonly k: number;
  readonly ef: readonly number[];
  readonly concurrency: number;
  readonly seconds: number;
  readonly filter?: Filter;
  readonly json: boolean;
}

/** `vectord bench [FILE]`. */
export function benchCommand(): Command {
  const command = new Command('bench')
    .summary('measure recall and speed of a running service with your vectors')
    .description('Measures recall, latency and throughput of a service that runs.')
    .argument('[file]', 'vectors to search for; a sample of the stored points by default')
    .addOption(new Option('--format <format>', 'what the file is').choices(FORMATS))
    .option('--vector <column>', 'the column of vectors', DEFAULT_MAPPING.vector)
    .option('--delimiter <character>', 'between the cells of CSV', ',')
    .option('--queries <count>', 'the most queries', wholeFrom(1), 200)
    .addOption(
      new Option('--similarity <name>', 'which is measured')
        .choices(SIMILARITIES)
        .default('Cosine'),
    )
    .option('--k <count>', 'neighbours of a search', wholeFrom(1), 10)
    .option('--ef <list>', 'search breadths, between commas', efs, [10, 20, 50, 100, 200, 400])
    .option('--concurrency <count>', 'searches under way at one time', wholeFrom(1), 4)
    .option('--seconds <seconds>', 'how long each ef is measured', seconds, 3)
    .option('--filter <json>', 'searches only points that pass', jsonObject<Filter>)
    .option('--json', 'prints one object of JSON in place of the table', false)
    .addHelpText('after', HELP);
  return withServerOptions(command).action(async (file: string | undefined, options: Options) => {
    await runRemote(options, command, async (client, { signal }) => {
      const info = await client.info({ signal });
      const targets = await targetsOf(client, file, options, info.dimension, signal);
      if (targets.length === 0) throw new TransferError('there are no queries, and nothing to do');
      const rows = await measure(client, targets, options, signal);
      print(info, targets.length, rows, options);
      return EXIT_OK;
    });
  });
}

async function targetsOf(
  client: Client,
  path: string | undefined,
  { format, vector, delimiter, queries, filter }: Options,
  dimension: number,
  signal: AbortSignal,
): Promise<readonly Target[]> {
  if (path === undefined) return await sampledTargets(client, queries, filter, signal);
  const mapping = { ...DEFAULT_MAPPING, vector };
  const source = await openSource({ path, format, mapping, texts: undefined, delimiter });
  try {
    return await targetsIn(source, mapping, dimension, queries);
  } finally {
    await source.close();
  }
}

async function measure(
  client: Client,
  targets: readonly Target[],
  { similarity, k, ef, concurrency, seconds: duration, filter }: Options,
  signal: AbortSignal,
): Promise<readonly BenchRow[]> {
  const rows: BenchRow[] = [];
  const steps = new Steps();
  const onStep = (step: string, share: number): void => steps.at(step, share);
  const settings = { similarity, k, efs: ef, concurrency, seconds: duration, filter };
  const bench = new Bench(client, targets, { ...settings, signal, onStep });
  try {
    for await (const row of bench.rows()) rows.push(row);
  } finally {
    steps.clear();
  }
  return rows;
}

/** A bar for each step of the work. */
class Steps {
  #step: string | undefined;
  #bar: Bar | undefined;

  at(step: string, share: number): void {
    if (step !== this.#step) {
      this.clear();
      this.#bar = new Bar(`% of ${step}`);
      this.#step = step;
    }
    this.#bar?.at(Math.floor(Math.min(1, share) * 100), Math.min(1, share));
  }

  clear(): void {
    this.#bar?.clear();
  }
}

function print(info: Info, queries: number, rows: readonly BenchRow[], options: Options): void {
  const { similarity, k, concurrency, seconds: duration, json, url } = options;
  const { version, points, dimension } = info;
  if (json) {
    const service = { url, version, points, dimension };
    const measured = { service, similarity, k, queries, concurrency, seconds: duration, rows };
    process.stdout.write(`${JSON.stringify(measured)}\n`);
    return;
  }
  process.stdout.write(
    `vectord ${version} at ${url}: ${formatCount(points)} points of ${dimension} values\n` +
      `${similarity}, ${k} neighbours, ${formatCount(queries)} queries, ${concurrency} at a time\n\n`,
  );
  const head = ['ef', `recall@${k}`, 'p50 ms', 'p95 ms', 'p99 ms', 'searches/s', 'searches'];
  process.stdout.write(tableOf(head, rows.map(cellsOf)));
}

function cellsOf(row: BenchRow): readonly string[] {
  const { ef, recall, p50Ms, p95Ms, p99Ms, searchesPerSecond, searches } = row;
  const times = [p50Ms, p95Ms, p99Ms].map((ms) => ms.toFixed(2));
  const rate = formatCount(Math.round(searchesPerSecond));
  return [String(ef), recall.toFixed(4), ...times, rate, formatCount(searches)];
}

function efs(text: string): readonly number[] {
  const numbers = text.split(',').map((part) => (/^\d+$/.test(part) ? Number(part) : 0));
  if (numbers.every((number) => Number.isSafeInteger(number) && number > 0)) return numbers;
  throw new InvalidArgumentError('Expected whole numbers between commas, each at least 1.');
}
