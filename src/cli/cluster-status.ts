// What `cluster status` does. Its packages are loaded once it is asked for.
import type { ClusterStatus, NodeStatus, StreamStatus } from '../cluster/status/model.js';
import { withClusterPackages } from '../config/cluster-packages.js';
import { readPart } from '../config/config.js';
import { EXIT_BAD_USAGE, EXIT_OK, EXIT_REFUSED, StartError } from '../core/start-error.js';
import { visible, visibleLines } from '../core/visible.js';
import { createLogger } from '../observe/logger.js';
import { formatBytes } from './bytes.js';
import { formatCount, formatCounted } from './count.js';
import { tableLines } from './table.js';
import { warnOfMisspelled } from './read-settings.js';

/** The client of NATS keeps the socket of a server that is silent, and with it the process. */
const EXIT_MS = 500;

/** The first columns of numbers; the first of all is left out where there is one shard. */
const SHARD_COLUMN = 4;
const PORT_COLUMN = 4;

/** Prints how the cluster of CLUSTER_URL is; answers the exit code. */
export async function clusterStatus(asJson: boolean): Promise<number> {
  warnOfMisspelled();
  const keys = ['clusterUrls', 'clusterName', 'clusterCredentials'] as const;
  const settings = readPart(process.env, keys);
  if (settings.clusterUrls === undefined) {
    const message = 'CLUSTER_URL is not set, expected as the nodes of the cluster have it';
    throw new StartError(message, EXIT_BAD_USAGE);
  }
  const { readStatus } = await withClusterPackages(
    async () => await import('../cluster/status/read.js'),
  );
  const { problemsOf } = await import('../cluster/status/problems.js');
  const status = await readStatus(settings, settings.clusterName, createLogger('error')).finally(
    () => setTimeout(() => process.exit(), EXIT_MS).unref(),
  );
  const problems = problemsOf(status);
  const lines = asJson
    ? [visibleLines(JSON.stringify({ ...status, problems }, undefined, 2))]
    : linesOf(status, problems);
  process.stdout.write(`${lines.join('\n')}\n`);
  return problems.length > 0 ? EXIT_REFUSED : EXIT_OK;
}

/** Whatever NATS and the nodes answer: each is one line, and nothing that would act on a terminal. */
function linesOf(status: ClusterStatus, problems: readonly string[]): string[] {
  const verdict = problems.length > 0 ? problems : ['all is well'];
  return [...statusLines(status), '', ...verdict].map(visible);
}

function statusLines({ cluster, dimension, replicas, nats, shards }: ClusterStatus): string[] {
  const isOne = shards.length === 1;
  const parts = isOne ? '' : `${formatCounted(shards.length, 'shard')}, each with `;
  const head = [
    [
      'cluster',
      `${cluster}: dimension ${dimension}, ${parts}${formatCounted(replicas, 'replica')}`,
    ],
    ['NATS', `asked ${nats.server}, version ${nats.version}`],
    ...shards.flatMap(({ shard, stream }) =>
      streamRows(isOne ? 'stream' : `shard ${shard}`, stream),
    ),
  ];
  const columns = [
    'NODE',
    'ANSWERS',
    'HISTORY',
    'DISK',
    'SHARD',
    'REPLICA',
    'POSITION',
    'LACKS',
    'STRAY',
  ];
  const table = [
    columns,
    ...shards.flatMap(({ shard, nodes }) => nodes.map((node) => nodeRow(node, shard))),
  ];
  const shown = isOne ? table.map((row) => row.toSpliced(SHARD_COLUMN, 1)) : table;
  const places = [
    ['NODE', 'HOST', 'VERSION', 'STATE', 'HTTP', 'GRPC', 'POINTS'],
    ...shards.flatMap(({ nodes }) => nodes.map(placeRow)),
  ];
  return [
    ...tableLines(head),
    '',
    ...tableLines(places, PORT_COLUMN),
    '',
    ...tableLines(shown, SHARD_COLUMN),
  ];
}

/** Where to find a node. One that starts has no open ports yet. */
function placeRow({ node, report }: NodeStatus): string[] {
  if (report === undefined) return [node, ...Array<string>(6).fill('-')];
  const { host, version, state, httpPort, grpcPort, points } = report;
  const open = [httpPort, grpcPort].map(String);
  const numbers = httpPort === 0 ? ['-', '-', '-'] : [...open, formatCount(points)];
  return [node, host, version, state, ...numbers];
}

function streamRows(label: string, stream: StreamStatus | undefined): string[][] {
  if (stream === undefined) return [[label, 'unknown']];
  const { name, servers, messages, bytes, limitBytes, firstSequence, lastSequence } = stream;
  const limit = limitBytes > 0 ? ` of ${formatBytes(limitBytes)}` : '';
  return [
    [
      label,
      `${name}: ${formatCounted(messages, 'message')}, ${formatBytes(bytes)}${limit}, ` +
        `from ${formatCount(firstSequence)} to ${formatCount(lastSequence)}`,
    ],
    ['', servers.map(({ name: server, state }) => `${server} ${state}`).join(', ')],
  ];
}

function nodeRow({ node, replica, answer }: NodeStatus, shard: number): string[] {
  const place = [shard, replica].map(String);
  if (answer === undefined) return [node, 'no', '-', '-', ...place, '-', '-', '-'];
  const { sequence, lacks, history, isFull, strays } = answer;
  const disk = isFull ? 'full' : 'has space';
  return [node, 'yes', history, disk, ...place, ...[sequence, lacks, strays].map(formatCount)];
}
