import { Latencies } from '../../scrape/latencies.js';
import type { Operation, Snapshot } from './snapshot.js';

/** How far back the charts go. */
export const HISTORY_MS = 600_000;

/** Latencies at one time are those of the requests of this long before it: few tell nothing. */
const LATENCY_WINDOW_MS = 30_000;

/** A value at each time of a history; undefined where nothing is known. */
export type Series = readonly (number | undefined)[];

/** What one kind of request did in a stretch of time. */
export interface OperationSummary {
  readonly name: string;
  readonly perSecond: number;
  readonly failedPerSecond: number;
  /** In seconds; undefined without a request. */
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}

/** The history with one more snapshot, without what is too old or of an earlier run of the service. */
export function extend(history: readonly Snapshot[], latest: Snapshot): readonly Snapshot[] {
  const kept = history.filter(
    ({ atMs, startedAtS }) =>
      startedAtS === latest.startedAtS && atMs < latest.atMs && latest.atMs - atMs <= HISTORY_MS,
  );
  return [...kept, latest];
}

/** How fast a count grew before each snapshot, a second. */
export function rates(history: readonly Snapshot[], count: (of: Snapshot) => number): Series {
  return history.map((now, at) => {
    const before = history[at - 1];
    return before && ((count(now) - count(before)) * 1000) / (now.atMs - before.atMs);
  });
}

/** All requests of a snapshot that count, or those that failed. */
export function totalOf(snapshot: Snapshot, part: 'requests' | 'failed'): number {
  let total = 0;
  for (const operation of snapshot.operations.values()) total += operation[part];
  return total;
}

/** A quantile of the durations of an operation at each time, in seconds. */
export function latencies(history: readonly Snapshot[], name: string, q: number): Series {
  return history.map((now, at) => {
    const before = startOfWindow(history, at, LATENCY_WINDOW_MS);
    return before && quantileBetween(before, now, name, q);
  });
}

/** What each operation did over the whole history, the most frequent first. */
export function summarize(history: readonly Snapshot[]): OperationSummary[] {
  const [first, last] = [history[0], history.at(-1)];
  if (first === undefined || last === undefined || first === last) return [];
  const seconds = (last.atMs - first.atMs) / 1000;
  return Array.from(last.operations.values(), (operation): OperationSummary => {
    const { name } = operation;
    const before = first.operations.get(name);
    return {
      name,
      perSecond: (operation.requests - (before?.requests ?? 0)) / seconds,
      failedPerSecond: (operation.failed - (before?.failed ?? 0)) / seconds,
      p50: quantileBetween(first, last, name, 0.5),
      p99: quantileBetween(first, last, name, 0.99),
    };
  })
    .filter(({ perSecond }) => perSecond > 0)
    .toSorted((a, b) => b.perSecond - a.perSecond);
}

function quantileBetween(before: Snapshot, now: Snapshot, name: string, q: number) {
  const earlier = durations(before, name);
  const added = durations(now, name).map(({ le, count }, at) => ({
    le,
    count: count - (earlier[at]?.count ?? 0),
  }));
  return new Latencies(added).quantile(q);
}

function durations(snapshot: Snapshot, name: string): Operation['durations'] {
  return snapshot.operations.get(name)?.durations ?? [];
}

/** The latest snapshot that is as old as the window, or the oldest one; none before the first. */
function startOfWindow(history: readonly Snapshot[], at: number, windowMs: number) {
  const now = history[at];
  const earlier = history.slice(0, at);
  return (
    earlier.findLast(({ atMs }) => now !== undefined && now.atMs - atMs >= windowMs) ?? earlier[0]
  );
}
