import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { CloseReason, ConnectionStats } from './connection-stats.js';
import type { Distribution } from './histogram.js';
import type { OperationLabels, Requests } from './requests.js';

/** How often the delay of the loop is sampled; the samples hold this time as well. */
const SAMPLE_MS = 20;
const NS_PER_S = 1e9;

/** Who notes what happens on an interface of one loop. */
export interface ObservedInterface {
  readonly requests: Requests;
  readonly connectionStats: ConnectionStats;
}

/** One kind of request, and how those ended. */
export interface OperationStats {
  readonly labels: OperationLabels;
  /** How often each status was answered, by its name. */
  readonly statuses: ReadonlyMap<string, number>;
  readonly durations: Distribution;
}

/** What has happened on one interface. */
export interface InterfaceStats {
  readonly protocol: 'http' | 'grpc';
  /** Those that have had a request. */
  readonly operations: readonly OperationStats[];
  readonly underWay: number;
  readonly open: number;
  readonly closed: ReadonlyMap<CloseReason, number>;
}

/** How late the loop came to its work since it was last asked, in seconds. */
export interface Lag {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** The heap of JavaScript of the loop, in bytes. */
export interface Heap {
  readonly heapUsed: number;
  readonly heapTotal: number;
  readonly external: number;
}

/** How a write of a cluster ends: refused is what is certainly not stored. */
export type WriteEnd = 'acknowledged' | 'refused' | 'unknown';

/** What a loop of a node of a cluster tells besides. */
export interface ClusterLoopStats {
  /** Those to NATS that are there. */
  readonly connections: number;
  readonly writes: ReadonlyMap<WriteEnd, number>;
}

/** What one loop tells of itself, in a form that another thread can be sent. */
export interface LoopStats {
  readonly interfaces: readonly InterfaceStats[];
  /** Answers that the HTTP server gave to what is no HTTP, which are no requests of any kind. */
  readonly malformed: ReadonlyMap<number, number>;
  readonly lag: Lag;
  readonly heap: Heap;
  /** Undefined where there is no cluster. */
  readonly cluster: ClusterLoopStats | undefined;
}

/** Measures one loop, the calling one. */
export class LoopMeter {
  readonly #delay = monitorEventLoopDelay({ resolution: SAMPLE_MS });
  readonly #malformed = new Map<number, number>();

  constructor(
    private readonly interfaces: readonly ObservedInterface[],
    private readonly cluster: { stats(): ClusterLoopStats } | undefined,
  ) {
    this.#delay.enable();
  }

  countMalformed(status: number): void {
    this.#malformed.set(status, (this.#malformed.get(status) ?? 0) + 1);
  }

  close(): void {
    this.#delay.disable();
  }

  /** What has happened since the start; the delay of the loop is that since the last call. */
  stats(): LoopStats {
    const { heapUsed, heapTotal, external } = process.memoryUsage();
    return {
      interfaces: this.interfaces.map(interfaceStats),
      malformed: this.#malformed,
      lag: this.#takeLag(),
      heap: { heapUsed, heapTotal, external },
      cluster: this.cluster?.stats(),
    };
  }

  #takeLag(): Lag {
    const delay = this.#delay;
    const [p50, p99] = [delay.percentile(50), delay.percentile(99)];
    const lag = { p50: lateS(p50), p99: lateS(p99), max: lateS(delay.max) };
    delay.reset();
    return lag;
  }
}

/** A sample of the delay without the time that a sample takes anyway. */
function lateS(sampleNs: number): number {
  return Math.max(0, sampleNs / NS_PER_S - SAMPLE_MS / 1000);
}

function interfaceStats({ requests, connectionStats }: ObservedInterface): InterfaceStats {
  const seen = requests.operations.filter(({ statuses }) => statuses.size > 0);
  return {
    protocol: requests.protocol,
    operations: seen.map(({ labels, statuses, durations: { bounds, counts, sum } }) => ({
      labels,
      statuses: new Map(Array.from(statuses, ([status, n]) => [requests.nameOf(status), n])),
      durations: { bounds, counts, sum },
    })),
    underWay: requests.underWay,
    open: connectionStats.open,
    closed: connectionStats.closed,
  };
}

/** What several loops tell, as if they were one: sums, and the delay of the one that is latest. */
export function mergeStats([first, ...others]: readonly [LoopStats, ...LoopStats[]]): LoopStats {
  return others.reduce(mergeTwo, first);
}

function mergeTwo(one: LoopStats, other: LoopStats): LoopStats {
  const later = (part: keyof Lag): number => Math.max(one.lag[part], other.lag[part]);
  const both = (part: keyof Heap): number => one.heap[part] + other.heap[part];
  return {
    interfaces: one.interfaces.map((found, at) => mergeInterfaces(found, other.interfaces[at])),
    malformed: addCounts(one.malformed, other.malformed),
    lag: { p50: later('p50'), p99: later('p99'), max: later('max') },
    heap: {
      heapUsed: both('heapUsed'),
      heapTotal: both('heapTotal'),
      external: both('external'),
    },
    cluster: one.cluster && other.cluster && mergeClusters(one.cluster, other.cluster),
  };
}

function mergeClusters(one: ClusterLoopStats, other: ClusterLoopStats): ClusterLoopStats {
  return {
    connections: one.connections + other.connections,
    writes: addCounts(one.writes, other.writes),
  };
}

function mergeInterfaces(one: InterfaceStats, other: InterfaceStats = one): InterfaceStats {
  return {
    protocol: one.protocol,
    operations: mergeOperations([...one.operations, ...other.operations]),
    underWay: one.underWay + other.underWay,
    open: one.open + other.open,
    closed: addCounts(one.closed, other.closed),
  };
}

function mergeOperations(all: readonly OperationStats[]): readonly OperationStats[] {
  const merged = new Map<string, OperationStats>();
  for (const found of all) {
    const { method, route } = found.labels;
    const name = `${method} ${route}`;
    const before = merged.get(name);
    merged.set(name, before === undefined ? found : addOperations(before, found));
  }
  return [...merged.values()];
}

function addOperations(one: OperationStats, other: OperationStats): OperationStats {
  const { bounds, counts, sum } = one.durations;
  const { counts: more, sum: moreSum } = other.durations;
  return {
    labels: one.labels,
    statuses: addCounts(one.statuses, other.statuses),
    durations: {
      bounds,
      counts: Array.from(counts, (count, bucket) => count + (more[bucket] ?? 0)),
      sum: sum + moreSum,
    },
  };
}

/** The sums of what both count. */
export function addCounts<Name>(
  one: ReadonlyMap<Name, number>,
  other: ReadonlyMap<Name, number>,
): ReadonlyMap<Name, number> {
  const sums = new Map(one);
  for (const [name, count] of other) sums.set(name, (sums.get(name) ?? 0) + count);
  return sums;
}
