import type { Bucket } from '../../scrape/latencies.js';
import type { Sample, Scrape } from '../../scrape/scrape.js';

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
  readonly points: number;
  readonly memoryBytes: number;
  /** Undefined where the system does not tell, as is what is available. */
  readonly dataBytes: number | undefined;
  readonly availableBytes: number | undefined;
  readonly connections: number;
  readonly commits: number;
  readonly commitRecords: number;
}

/** The page asks for these itself, every few seconds: they say nothing of the service. */
const OWN = /\/(?:metrics|ready|v1\/info|console.*)$/;

const PROTOCOLS = ['http', 'grpc'] as const;

export function snapshotOf(metrics: Scrape, atMs: number): Snapshot {
  return {
    atMs,
    startedAtS: metrics.value('process_start_time_seconds'),
    operations: new Map(PROTOCOLS.flatMap((protocol) => operationsOf(metrics, protocol))),
    points: metrics.value('vectord_points'),
    memoryBytes: metrics.value('process_resident_memory_bytes'),
    dataBytes: metrics.all('vectord_data_bytes')[0]?.value,
    availableBytes: metrics.all('vectord_data_available_bytes')[0]?.value,
    connections: sum(
      PROTOCOLS.flatMap((protocol) => metrics.all(`vectord_${protocol}_connections`)),
    ),
    commits: metrics.value('vectord_commit_duration_seconds_count'),
    commitRecords: metrics.value('vectord_commit_records_sum'),
  };
}

function operationsOf(metrics: Scrape, protocol: (typeof PROTOCOLS)[number]) {
  const prefix = `vectord_${protocol}_request`;
  const durations = byOperation(metrics.all(`${prefix}_duration_seconds_bucket`));
  const counts = byOperation(metrics.all(`${prefix}s_total`));
  return Array.from(counts)
    .filter(([name]) => !OWN.test(name))
    .map(([name, samples]): [string, Operation] => [
      name,
      {
        name,
        requests: sum(samples),
        failed: sum(samples.filter(({ labels }) => isFailure(labels['status'] ?? ''))),
        durations: (durations.get(name) ?? []).map(({ labels, value }) => ({
          le: labels['le'] === '+Inf' ? Infinity : Number(labels['le']),
          count: value,
        })),
      },
    ]);
}

/** Samples by what they are called on the page: `HTTP POST /v1/points/search`, `gRPC Search`. */
function byOperation(samples: readonly Sample[]): Map<string, Sample[]> {
  const found = new Map<string, Sample[]>();
  for (const sample of samples) {
    const { method = '', route } = sample.labels;
    const name = route === undefined ? `gRPC ${method}` : `HTTP ${method} ${route}`;
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
