import { similarityName } from '../core/model.js';
import type { Engine, EngineMetrics, EngineStatus } from '../engine/native.js';
import type { Service } from '../core/service.js';
import { VERSION } from '../config/version.js';
import { writeCluster, type ClusterNodeStats } from './cluster-metrics.js';
import { Exposition, type Labels } from './exposition.js';
import { FolderMeasure, isNearlyFull, type FolderSize } from './folder-size.js';
import {
  mergeStats,
  type Heap,
  type InterfaceStats,
  type Lag,
  type LoopStats,
} from './loop-stats.js';

const US_PER_S = 1e6;

/** Everything that is told of. */
export interface Observed {
  readonly engine: Pick<Engine, 'status' | 'metrics'>;
  readonly service: Pick<Service, 'faults'>;
  readonly decoder: { readonly waiting: number };
  readonly inflight: { readonly usedBytes: number; readonly maxBytes: number };
  readonly maxConnections: number;
  readonly maxFilterIndexBytes: number;
  readonly dataPath: string;
  /** Undefined where there is no cluster. */
  readonly node: { stats(): ClusterNodeStats } | undefined;
  /** What each loop tells of itself. */
  readonly loops: () => Promise<readonly [LoopStats, ...LoopStats[]]>;
}

/** What the service tells of itself, put together only when somebody asks. */
export class Metrics {
  readonly #folder: FolderMeasure;

  constructor(private readonly observed: Observed) {
    this.#folder = new FolderMeasure(observed.dataPath);
  }

  /** All metrics in the text format of Prometheus. */
  async text(): Promise<string> {
    const { engine, service, inflight, decoder, maxConnections, node } = this.observed;
    const [size, loops] = await Promise.all([this.#folder.size(), this.observed.loops()]);
    const { interfaces, malformed, lag, heap, cluster } = mergeStats(loops);
    const to = new Exposition();
    writeBuild(to);
    to.gauge('vectord_loops', 'Event loops that answer requests (LOOPS).', loops.length);
    for (const found of interfaces) {
      writeRequests(to, found);
      writeConnections(to, found);
    }
    to.gauge(
      'vectord_connections_limit',
      'How many each interface may have (MAX_CONNECTIONS).',
      maxConnections,
    );
    const notHttp = Array.from(
      malformed,
      ([status, count]) => [{ status: String(status) }, count] as const,
    );
    to.counter('vectord_http_malformed_total', 'Requests that were no HTTP/1.1.', notHttp);
    to.gauge('vectord_inflight_bytes', 'Bytes of requests being answered.', inflight.usedBytes);
    to.gauge(
      'vectord_inflight_limit_bytes',
      'How many there may be (MAX_INFLIGHT_BYTES).',
      inflight.maxBytes,
    );
    to.gauge('vectord_decoder_waiting', 'Large requests that wait to be read.', decoder.waiting);
    const status = engine.status();
    writePoints(to, status);
    writeFilterIndex(to, status, this.observed.maxFilterIndexBytes);
    writeFaults(to, status, size, service.faults().length === 0);
    writeEngine(to, engine.metrics());
    if (node !== undefined && cluster !== undefined) writeCluster(to, node.stats(), cluster);
    writeFolder(to, size);
    writeProcess(to, heap);
    writeLag(to, lag);
    return to.text;
  }
}

function writeBuild(to: Exposition): void {
  const labels = { version: VERSION, node: process.versions.node };
  to.gauge('vectord_build_info', 'What is running; always 1.', [[labels, 1]]);
}

function writeRequests(to: Exposition, { protocol, operations, underWay }: InterfaceStats): void {
  const prefix = `vectord_${protocol}_requests`;
  const counts = operations.flatMap(({ labels, statuses }) =>
    Array.from(statuses, ([status, count]) => [{ ...labels, status }, count] as const),
  );
  to.counter(`${prefix}_total`, 'Requests that have ended.', counts);
  const durations = operations.map(
    ({ labels, durations: found }) => [{ ...labels }, found] as const,
  );
  const name = `vectord_${protocol}_request_duration_seconds`;
  to.histogram(name, 'From the arrival of a request to its answer.', durations);
  to.gauge(`${prefix}_under_way`, 'Requests that have not ended.', underWay);
}

function writeConnections(to: Exposition, { protocol, open, closed }: InterfaceStats): void {
  const name = `vectord_${protocol}_connections`;
  to.gauge(name, 'Connections that are open.', open);
  const reasons = Array.from(closed, ([reason, count]) => [{ reason }, count] as const);
  to.counter(`${name}_closed_total`, 'Connections that the service closed, and why.', reasons);
}

function writePoints(to: Exposition, { points, dead, graphs }: EngineStatus): void {
  to.gauge('vectord_points', 'Points that are not deleted.', points);
  to.gauge('vectord_deleted_points', 'Deleted points whose slots are not free yet.', dead);
  const each = (value: (graph: (typeof graphs)[number]) => number): [Labels, number][] =>
    graphs.map((graph) => [{ similarity: similarityName(graph.metric) }, value(graph)]);
  to.gauge(
    'vectord_graph_slots',
    'Slots of points that the graph of a similarity is to hold.',
    each((graph) => graph.slots),
  );
  to.gauge(
    'vectord_graph_linked_slots',
    'Slots that it holds so far; searches scan the others.',
    each((graph) => graph.linked),
  );
  to.gauge(
    'vectord_graph_caught_up',
    'Whether it has once held as good as all of them.',
    each((graph) => Number(graph.caughtUp)),
  );
  to.gauge(
    'vectord_graph_bytes',
    'Memory that it takes, about.',
    each((graph) => graph.bytes),
  );
  to.gauge(
    'vectord_graph_failed',
    'Whether it was given up and is not begun anew yet: searches scan all points.',
    each((graph) => Number(!graph.exists)),
  );
  to.counter(
    'vectord_graph_failures_total',
    'How often it was given up; the log says why.',
    each((graph) => graph.failures),
  );
}

function writeFilterIndex(to: Exposition, { columns }: EngineStatus, maxBytes: number): void {
  const there = columns.filter(({ exists }) => exists);
  const bytes = there.reduce((sum, column) => sum + column.bytes, 0);
  to.gauge('vectord_filter_index_bytes', 'Memory of the index that answers filters.', bytes);
  to.gauge(
    'vectord_filter_index_limit_bytes',
    'How much it may take (MAX_FILTER_INDEX_BYTES).',
    maxBytes,
  );
}

function writeFaults(
  to: Exposition,
  { failure, isFull: hasRefused, damage, upkeepFailure }: EngineStatus,
  size: FolderSize | undefined,
  isReady: boolean,
): void {
  const isFull = hasRefused || (size !== undefined && isNearlyFull(size.availableBytes));
  to.gauge('vectord_ready', 'Whether /ready answers 200.', Number(isReady));
  to.gauge('vectord_fault', 'What is wrong with the data folder; the log has the particulars.', [
    [{ kind: 'write' }, Number(failure !== undefined)],
    [{ kind: 'full' }, Number(isFull)],
    [{ kind: 'damage' }, Number(damage !== undefined)],
    [{ kind: 'upkeep' }, Number(upkeepFailure !== undefined)],
  ]);
}

function writeEngine(to: Exposition, engine: EngineMetrics): void {
  const { syncs, commits, groupRecords } = engine;
  const syncHelp = 'Syncs of the log, those that prove the last group included.';
  to.histogram('vectord_log_sync_duration_seconds', syncHelp, [[{}, syncs]], US_PER_S);
  const commitHelp = 'Groups of writes, from being written to being visible.';
  to.histogram('vectord_commit_duration_seconds', commitHelp, [[{}, commits]], US_PER_S);
  to.histogram('vectord_commit_records', 'Inserts and deletes in a group.', [[{}, groupRecords]]);
  to.counter('vectord_snapshots_total', 'Snapshots written.', engine.snapshots);
  const compacted = 'Files of the log written anew without what is deleted.';
  to.counter('vectord_compacted_segments_total', compacted, engine.compactions);
  to.gauge('vectord_search_jobs', 'Batches and heavy searches that wait or run.', engine.jobs);
  to.gauge('vectord_search_jobs_limit', 'How many of them there may be.', engine.maxJobs);
  to.gauge('vectord_engine_bytes', 'Bytes of requests in the engine.', engine.queuedBytes);
  to.gauge(
    'vectord_engine_limit_bytes',
    'How many there may be (MAX_INFLIGHT_BYTES).',
    engine.maxQueuedBytes,
  );
}

function writeFolder(to: Exposition, size: FolderSize | undefined): void {
  if (size === undefined) return;
  to.gauge('vectord_data_bytes', 'Space that the data folder takes.', size.usedBytes);
  to.gauge('vectord_data_available_bytes', 'Space left on its disk.', size.availableBytes);
}

/** Under the names that prom-client uses. Each scrape tells of the time since the one before. */
function writeLag(to: Exposition, { p50, p99, max }: Lag): void {
  const help = 'How late the latest event loop came to its work since the last scrape:';
  const name = 'nodejs_eventloop_lag';
  to.gauge(`${name}_p50_seconds`, `${help} the median.`, p50);
  to.gauge(`${name}_p99_seconds`, `${help} 99 of 100 times less.`, p99);
  to.gauge(`${name}_max_seconds`, `${help} the most.`, max);
}

function writeProcess(to: Exposition, { heapUsed, heapTotal, external }: Heap): void {
  const { rss } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const startedS = performance.timeOrigin / 1000;
  to.gauge('process_start_time_seconds', 'Start of the process since the epoch.', startedS);
  const cpu = (user + system) / US_PER_S;
  to.counter('process_cpu_seconds_total', 'Processor time of all threads.', cpu);
  to.gauge('process_resident_memory_bytes', 'Memory, mapped files included.', rss);
  to.gauge('nodejs_heap_size_used_bytes', 'Heap of JavaScript in use.', heapUsed);
  to.gauge('nodejs_heap_size_total_bytes', 'Heap of JavaScript.', heapTotal);
  to.gauge('nodejs_external_memory_bytes', 'Memory of buffers outside of it.', external);
}
