import type { Client } from '../client/interface.js';
import type { Filter, Point, Similarity } from '../client/model.js';
import { InternalError } from '../client/errors.js';
import { inParallel } from '../core/in-parallel.js';
import { Latencies } from './latencies.js';
import type { Target } from './queries.js';

/** How often it is asked whether the graph is ready. */
const POLL_MS = 250;

/** Until both processes have compiled what they do most. */
const WARM_UP_SECONDS = 1;

export interface BenchOptions {
  readonly similarity: Similarity;
  /** Neighbours of a search. */
  readonly k: number;
  readonly efs: readonly number[];
  /** Searches under way at one time. */
  readonly concurrency: number;
  /** For how long each ef is measured. */
  readonly seconds: number;
  readonly filter: Filter | undefined;
  readonly signal: AbortSignal;
  readonly onStep: (step: BenchStep) => void;
}

/** How far the work is. */
export interface BenchStep {
  /** What is being done. */
  readonly name: string;
  /** What is counted, and how many so far. */
  readonly unit: string;
  readonly done: number;
  /** How much of the step that is, from 0 to 1. */
  readonly share: number;
}

/** What was measured with one ef, or with exact searches. */
export interface BenchRow {
  readonly ef: number | 'exact';
  /** The share of the true neighbours that was found, of all queries. */
  readonly recall: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly searchesPerSecond: number;
  readonly searches: number;
}

/** Measures one row after the other, the exact one first. It stores nothing. */
export class Bench {
  /** The distance of the last true neighbour of each query, and how many there are. */
  readonly #truths: { readonly farthest: number; readonly count: number }[] = [];

  constructor(
    private readonly client: Client,
    private readonly targets: readonly Target[],
    private readonly options: BenchOptions,
  ) {}

  async *rows(): AsyncGenerator<BenchRow, void, undefined> {
    const { signal, efs } = this.options;
    try {
      await this.#waitForGraph();
      yield await this.#exactRow();
      const [first] = efs;
      if (first !== undefined) await this.#askFor(WARM_UP_SECONDS, first, 'warming up');
      // oxlint-disable-next-line no-await-in-loop -- rows would disturb each other
      for (const ef of efs) yield await this.#rowOf(ef);
    } catch (error) {
      // What was measured is told; the row that was cut off is not.
      if (!signal.aborted) throw error;
    }
  }

  /** The first search of a similarity begins its graph, and until it is ready scans answer. */
  async #waitForGraph(): Promise<void> {
    const { similarity, signal, onStep } = this.options;
    const [target] = this.targets;
    if (target === undefined) return;
    await this.#search(target, {});
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one look after the other
      const { graphs } = await this.client.info({ signal });
      const graph = graphs.find((one) => one.similarity === similarity);
      if (graph === undefined || graph.state === 'ready') return;
      if (graph.state === 'failed') {
        throw new InternalError(
          `the graph of ${similarity} has failed: see the log of the service`,
        );
      }
      const { linked: done, slots } = graph;
      onStep({ name: 'graph', unit: 'points', done, share: done / Math.max(1, slots) });
      // oxlint-disable-next-line no-await-in-loop -- the wait is between two looks
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  async #exactRow(): Promise<BenchRow> {
    const latencies = new Latencies();
    const startedAtMs = performance.now();
    await this.#askAll('exact answers', { exact: true }, latencies, (at, found) => {
      this.#truths[at] = { farthest: found.at(-1)?.distance ?? 0, count: found.length };
    });
    return rowOf('exact', 1, latencies, performance.now() - startedAtMs);
  }

  /** Asks each query once, for the recall, and then measures for some seconds. */
  async #rowOf(ef: number): Promise<BenchRow> {
    const step = `ef ${ef}`;
    const recalls: number[] = [];
    await this.#askAll(`recall of ${step}`, { ef }, new Latencies(), (at, found) => {
      const { farthest, count } = this.#truths[at] ?? { farthest: 0, count: 0 };
      const hits = found.filter(({ distance = Infinity }) => distance <= farthest).length;
      if (count > 0) recalls.push(Math.min(1, hits / count));
    });
    const startedAtMs = performance.now();
    const latencies = await this.#askFor(this.options.seconds, ef, step);
    return rowOf(ef, mean(recalls), latencies, performance.now() - startedAtMs);
  }

  /** Searches for some seconds. */
  async #askFor(seconds: number, ef: number, name: string): Promise<Latencies> {
    const { concurrency, onStep } = this.options;
    const latencies = new Latencies();
    const startedAtMs = performance.now();
    const endsAtMs = startedAtMs + seconds * 1000;
    let next = 0;
    await inParallel(concurrency, async () => {
      const askedAtMs = performance.now();
      next += 1;
      const target = this.targets[next % this.targets.length];
      if (target === undefined || askedAtMs >= endsAtMs) return false;
      await this.#search(target, { ef });
      latencies.add(performance.now() - askedAtMs);
      const share = Math.min(1, (performance.now() - startedAtMs) / (seconds * 1000));
      onStep({ name, unit: 'searches', done: latencies.count, share });
      return true;
    });
    return latencies;
  }

  /** Asks each query once. */
  async #askAll(
    name: string,
    how: { readonly ef?: number; readonly exact?: boolean },
    latencies: Latencies,
    heard: (at: number, found: readonly Point[]) => void,
  ): Promise<void> {
    const targets = this.targets.entries();
    await inParallel(this.options.concurrency, async () => {
      const next = targets.next();
      if (next.done === true) return false;
      const [at, target] = next.value;
      const askedAtMs = performance.now();
      const found = await this.#search(target, how);
      latencies.add(performance.now() - askedAtMs);
      heard(at, found);
      const done = latencies.count;
      this.options.onStep({ name, unit: 'queries', done, share: done / this.targets.length });
      return true;
    });
  }

  async #search(
    target: Target,
    how: { readonly ef?: number; readonly exact?: boolean },
  ): Promise<readonly Point[]> {
    const { similarity, k: limit, filter, signal } = this.options;
    const include = ['distance'] as const;
    const query = { ...target, ...how, similarity, limit, filter, include };
    return await this.client.search(query, { signal });
  }
}

function rowOf(
  ef: BenchRow['ef'],
  recall: number,
  latencies: Latencies,
  elapsedMs: number,
): BenchRow {
  const [p50Ms = 0, p95Ms = 0, p99Ms = 0] = latencies.percentiles(50, 95, 99);
  const searches = latencies.count;
  const searchesPerSecond = searches / (elapsedMs / 1000);
  return { ef, recall, p50Ms, p95Ms, p99Ms, searchesPerSecond, searches };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
