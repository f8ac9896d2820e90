import { valueOf, type Metrics, type Sample } from './exposition.js';
import type { Bucket } from './quantile.js';

/** One kind of request, and what has been counted of it since the service started. */
export interface Operation {
  readonly name: string;
  readonly requests: number;
  /** Those that were answered with an error. */
  readonly failed: number;
  readonly durations: readonly Bucket[];
}

/** What the metrics said at one time. */
export interface Snapshot {
  readonly atMs: number;
  /** Tells one run of the service from the next. */
  readonly startedAtS: number;
  readonly operations: ReadonlyMap<string, Operation>;
  readonly points: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly dataBytes: number | undefined;
  readonly availableBytes: number | undefined;
  readonly connections: number;
  readonly commits: number;
  readonly commitRecords: number;
}

/** The page asks for these itself, every few seconds: they say nothing of the service. */
const OWN = /\/(?:metrics|ready|v1\/info|console.*)$/;

const PROTOCOLS = ['http', 'grpc'] as const;

export function snapshotOf(metrics: Metrics, atMs: number): Snapshot {
  return {
    atMs,
    startedAtS: valueOf(metrics, 'process_start_time_seconds') ?? 0,
    operations: new Map(PROTOCOLS.flatMap((protocol) => operationsOf(metrics, protocol))),
    points: valueOf(metrics, 'vectord_points'),
    memoryBytes: valueOf(metrics, 'process_resident_memory_bytes'),
    dataBytes: valueOf(metrics, 'vectord_data_bytes'),
    availableBytes: valueOf(metrics, 'vectord_data_available_bytes'),
    connections: sum(
      PROTOCOLS.flatMap((protocol) => metrics.get(`vectord_${protocol}_connections`) ?? []),
    ),
    commits: valueOf(metrics, 'vectord_commit_duration_seconds_count') ?? 0,
    commitRecords: valueOf(metrics, 'vectord_commit_records_sum') ?? 0,
  };
}

function operationsOf(metrics: Metrics, protocol: (typeof PROTOCOLS)[number]) {
  const prefix = `vectord_${protocol}_request`;
  const durations = byOperation(metrics.get(`${prefix}_duration_seconds_bucket`) ?? []);
  const counts = byOperation(metrics.get(`${prefix}s_total`) ?? []);
  return Array.from(counts)
    .filter(([name]) => !OWN.test(name))
    .map(([name, samples]): [string, Operation] => [
      name,
      {
        name,
        requests: sum(samples),
        failed: sum(samples.filter(({ labels }) => isFailure(labels['status'] ?? ''))),
        durations: (durations.get(name) ?? []).map(({ labels, value }) => ({
          bound: labels['le'] === '+Inf' ? Infinity : Number(labels['le']),
          count: value,
        })),
      },
    ]);
}

/** Samples by what they are called on the page: `POST /v1/points/search`, `gRPC Search`. */
function byOperation(samples: readonly Sample[]): Map<string, Sample[]> {
  const found = new Map<string, Sample[]>();
  for (const sample of samples) {
    const { method = '', route } = sample.labels;
    const name = route === undefined ? `gRPC ${method}` : `${method} ${route}`;
    const known = found.get(name);
    if (known === undefined) found.set(name, [sample]);
    else known.push(sample);
  }
  return found;
}

/** HTTP has numbers, gRPC names. */
function isFailure(status: string): boolean {
  return /^\d/.test(status) ? Number(status) >= 400 : status !== 'OK';
}

function sum(samples: readonly Sample[]): number {
  return samples.reduce((total, { value }) => total + value, 0);
}
