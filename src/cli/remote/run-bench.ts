import type { Command } from 'commander';
import type { Client } from '../../client/interface.js';
import type { Info } from '../../client/model.js';
import { EXIT_OK } from '../../core/start-error.js';
import { Bench, type BenchRow, type BenchStep } from '../../measure/bench.js';
import { sampledTargets, targetsIn, type Target } from '../../measure/queries.js';
import { DEFAULT_MAPPING } from '../../transfer/mapping.js';
import { openSource } from '../../transfer/source.js';
import { TransferError } from '../../transfer/transfer-error.js';
import type { BenchArguments } from './bench-arguments.js';
import { formatCount, formatCounted } from '../count.js';
import { tableLines } from '../table.js';
import { Bar } from './bar.js';
import { runRemote } from './run-remote.js';

/** Does what `vectord bench` asks for, and sets the exit code. */
export async function runBench(
  file: string | undefined,
  options: BenchArguments,
  command: Command,
): Promise<void> {
  await runRemote(options, command, async (client, { signal }) => {
    const info = await client.info({ signal });
    const targets = await targetsOf(client, file, options, info.dimension, signal);
    if (targets.length === 0) throw new TransferError('there are no queries, and nothing to do');
    const rows = await measure(client, targets, options, signal);
    print(info, targets.length, rows, options);
    return EXIT_OK;
  });
}

async function targetsOf(
  client: Client,
  path: string | undefined,
  { format, vector, delimiter, queries, filter }: BenchArguments,
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
  { similarity, k, ef, concurrency, seconds: duration, filter }: BenchArguments,
  signal: AbortSignal,
): Promise<readonly BenchRow[]> {
  const rows: BenchRow[] = [];
  const steps = new Steps();
  const onStep = (step: BenchStep): void => steps.at(step);
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
  #name: string | undefined;
  #bar: Bar | undefined;

  at({ name, unit, done, share }: BenchStep): void {
    if (name !== this.#name) {
      this.clear();
      this.#bar = new Bar(unit, `${name}: `);
      this.#name = name;
    }
    this.#bar?.at(done, share);
  }

  clear(): void {
    this.#bar?.clear();
  }
}

function print(
  info: Info,
  queries: number,
  rows: readonly BenchRow[],
  options: BenchArguments,
): void {
  const { similarity, k, concurrency, seconds: duration, json, url } = options;
  const { version, points, dimension } = info;
  if (json === true) {
    const service = { url, version, points, dimension };
    const measured = { service, similarity, k, queries, concurrency, seconds: duration, rows };
    process.stdout.write(`${JSON.stringify(measured)}\n`);
    return;
  }
  process.stdout.write(
    `vectord ${version} at ${url}: ${formatCounted(points, 'point')} of ${formatCounted(dimension, 'value')}\n` +
      `${similarity}, ${formatCounted(k, 'neighbour')}, ` +
      `${formatCounted(queries, 'query', 'queries')}, ${concurrency} at a time\n\n`,
  );
  const head = ['ef', `recall@${k}`, 'p50 ms', 'p95 ms', 'p99 ms', 'searches/s', 'searches'];
  process.stdout.write(`${tableLines([head, ...rows.map(cellsOf)], 0).join('\n')}\n`);
}

function cellsOf(row: BenchRow): readonly string[] {
  const { ef, recall, p50Ms, p95Ms, p99Ms, searchesPerSecond, searches } = row;
  const times = [p50Ms, p95Ms, p99Ms].map((ms) => ms.toFixed(2));
  const rate = formatCount(Math.round(searchesPerSecond));
  return [String(ef), recall.toFixed(4), ...times, rate, formatCount(searches)];
}
