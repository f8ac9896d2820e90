import { Latencies, latenciesSince } from '../../scrape/latencies.js';
import type { Labels, Scrape } from '../../scrape/scrape.js';
import type { Look } from './service.js';

/** One kind of request in the time between two looks. */
export interface Operation {
  readonly name: string;
  readonly perSecond: number;
  readonly errorsPerSecond: number;
  readonly latencies: Latencies;
}

/** What the service did between two looks. */
export interface Activity {
  /** Those that were asked for, the most frequent first. */
  readonly operations: readonly Operation[];
  readonly commitsPerSecond: number;
  readonly recordsPerSecond: number;
  readonly commits: Latencies;
  /** Processor time of each second. */
  readonly cores: number;
}

/** What this view asks for itself. */
const OWN: ReadonlySet<string> = new Set(['HTTP GET /metrics', 'HTTP GET /v1/info']);

const INTERFACES = [
  { protocol: 'http', title: 'HTTP', isError: (status: string) => Number(status) >= 400 },
  { protocol: 'grpc', title: 'gRPC', isError: (status: string) => status !== 'OK' },
] as const;

export function activityBetween(earlier: Look, { metrics: now, atMs }: Look): Activity {
  const seconds = (atMs - earlier.atMs) / 1000;
  // A process that started meanwhile has counted from 0 on.
  const before = startOf(earlier.metrics) === startOf(now) ? earlier.metrics : undefined;
  const perSecond = (name: string): number =>
    (now.value(name) - (before?.value(name) ?? 0)) / seconds;
  const commits = latenciesSince(before, now, 'vectord_commit_duration_seconds', () => '');
  return {
    operations: INTERFACES.flatMap((one) => operationsOf(one, before, now, seconds)).toSorted(
      (a, b) => b.perSecond - a.perSecond || (a.name < b.name ? -1 : 1),
    ),
    commitsPerSecond: perSecond('vectord_commit_duration_seconds_count'),
    recordsPerSecond: perSecond('vectord_commit_records_sum'),
    commits: commits.get('') ?? new Latencies([]),
    cores: perSecond('process_cpu_seconds_total'),
  };
}

function startOf(metrics: Scrape): number {
  return metrics.value('process_start_time_seconds');
}

function operationsOf(
  { protocol, title, isError }: (typeof INTERFACES)[number],
  before: Scrape | undefined,
  now: Scrape,
  seconds: number,
): Operation[] {
  const nameOf = ({ method, route }: Labels): string =>
    [title, method, route].filter((part) => part !== undefined).join(' ');
  const durations = `vectord_${protocol}_request_duration_seconds`;
  const errors = new Map<string, number>();
  for (const [sign, scrape] of [[1, now] as const, [-1, before] as const]) {
    for (const { labels, value } of scrape?.all(`vectord_${protocol}_requests_total`) ?? []) {
      if (!isError(labels['status'] ?? '')) continue;
      errors.set(nameOf(labels), (errors.get(nameOf(labels)) ?? 0) + sign * value);
    }
  }
  return Array.from(latenciesSince(before, now, durations, nameOf), ([name, latencies]) => ({
    name,
    perSecond: latencies.count / seconds,
    errorsPerSecond: (errors.get(name) ?? 0) / seconds,
    latencies,
  })).filter(({ name, perSecond }) => perSecond > 0 && !OWN.has(name));
}
