import { visible } from '../../core/visible.js';
import { formatBytes } from '../bytes.js';
import { formatCount } from '../count.js';
import { tableLines } from '../table.js';
import { activityBetween, type Activity } from './activity.js';
import { formatDuration, formatLatency, formatRate } from './format.js';
import type { Latencies } from '../../scrape/latencies.js';
import type { Scrape } from '../../scrape/scrape.js';
import type { Look } from './service.js';

/** What is shown of a service between two looks, as lines of text. */
export function blockOf(url: string, before: Look, now: Look): string[] {
  const { metrics } = now;
  const activity = activityBetween(before, now);
  const lines = [
    headOf(url, metrics),
    ...tableLines(summaryOf(activity, now)).map((line) => `  ${line}`),
    '',
    ...graphsOf(now),
    '',
    ...operationsOf(activity),
  ];
  // Clients choose the names of fields, and these may hold sequences that change the terminal.
  return lines.map(visible);
}

function headOf(url: string, metrics: Scrape): string {
  const version = metrics.all('vectord_build_info')[0]?.labels['version'] ?? '';
  const upS = Date.now() / 1000 - metrics.value('process_start_time_seconds');
  const faults = metrics.all('vectord_fault').filter(({ value }) => value === 1);
  const kinds = faults.map(({ labels }) => labels['kind']).join(', ');
  const isReady = metrics.value('vectord_ready') === 1;
  const state = isReady ? 'ready' : `NOT READY${kinds === '' ? '' : `: ${kinds}`}`;
  return `vectord ${version} at ${url}, up ${formatDuration(upS)}, ${state}`;
}

function summaryOf(activity: Activity, { metrics, info }: Look): string[][] {
  const { operations, commits, commitsPerSecond, recordsPerSecond, cores } = activity;
  const requests = operations.reduce((sum, { perSecond }) => sum + perSecond, 0);
  const errors = operations.reduce((sum, { errorsPerSecond }) => sum + errorsPerSecond, 0);
  const bytes = (name: string): string => formatBytes(metrics.value(name));
  const whole = (name: string): string => formatCount(metrics.value(name));
  // The request for the metrics is itself under way.
  const underWay =
    metrics.value('vectord_http_requests_under_way') -
    1 +
    metrics.value('vectord_grpc_requests_under_way');
  const dimension = info === undefined ? '' : `, dimension ${info.dimension}`;
  const fields = (info?.filterIndex ?? []).map(({ field, state }) => `${field} ${state}`);
  return [
    [
      'requests',
      `${formatRate(requests)}/s, errors ${formatRate(errors)}/s, ${underWay} under way`,
    ],
    [
      'connections',
      `HTTP ${whole('vectord_http_connections')}, gRPC ${whole('vectord_grpc_connections')}, ` +
        `of at most ${whole('vectord_connections_limit')} each`,
    ],
    [
      'points',
      `${whole('vectord_points')}, deleted ${whole('vectord_deleted_points')}${dimension}`,
    ],
    [
      'commits',
      `${formatRate(commitsPerSecond)}/s, records ${formatRate(recordsPerSecond)}/s, ` +
        latenciesText(commits),
    ],
    [
      'filter index',
      `${bytes('vectord_filter_index_bytes')} of ${bytes('vectord_filter_index_limit_bytes')}` +
        (fields.length === 0 ? '' : `: ${fields.join(', ')}`),
    ],
    [
      'memory',
      `${bytes('process_resident_memory_bytes')}, requests ${bytes('vectord_inflight_bytes')} of ` +
        bytes('vectord_inflight_limit_bytes'),
    ],
    ['processor', `${cores.toFixed(2)} cores`],
    ['disk', `${bytes('vectord_data_bytes')}, available ${bytes('vectord_data_available_bytes')}`],
  ];
}

function latenciesText(latencies: Latencies): string {
  const [p50, p99] = [0.5, 0.99].map((share) => formatLatency(latencies.quantile(share)));
  return `p50 ${p50}, p99 ${p99}`;
}

function graphsOf({ metrics, info }: Look): string[] {
  const graphs = metrics.all('vectord_graph_slots').map(({ labels, value }) => {
    const isTrue = (name: string): boolean => metrics.value(name, labels) === 1;
    const state = isTrue('vectord_graph_caught_up') ? 'ready' : 'building';
    const { similarity = '' } = labels;
    const idleSeconds = info?.graphs.find((graph) => graph.similarity === similarity)?.idleSeconds;
    return [
      similarity,
      isTrue('vectord_graph_failed') ? 'failed' : state,
      `${formatCount(metrics.value('vectord_graph_linked_slots', labels))} /`,
      formatCount(value),
      formatBytes(metrics.value('vectord_graph_bytes', labels)),
      idleSeconds === undefined ? '' : formatDuration(idleSeconds),
    ];
  });
  if (graphs.length === 0) return ['no graphs: the first search under a similarity begins one'];
  const head = ['GRAPH', 'STATE', 'LINKED /', 'POINTS + DELETED', 'MEMORY', 'IDLE FOR'];
  return tableLines([head, ...graphs], 2);
}

function operationsOf({ operations }: Activity): string[] {
  if (operations.length === 0) return ['no requests'];
  const rows = operations.map(({ name, perSecond, errorsPerSecond, latencies }) => [
    name,
    formatRate(perSecond),
    formatRate(errorsPerSecond),
    formatLatency(latencies.quantile(0.5)),
    formatLatency(latencies.quantile(0.99)),
  ]);
  return tableLines([['OPERATION', 'PER SECOND', 'ERRORS', 'P50', 'P99'], ...rows], 1);
}
