import { describe, expect, test } from 'vitest';
import { Scrape } from '../../scrape/scrape.js';
import { extend, HISTORY_MS, latencies, rates, summarize, totalOf } from './history.js';
import { snapshotOf } from './snapshot.js';

/** Metrics after so many searches, all but one in ten within a millisecond, one in ten failed. */
function metricsAfter(searches: number, startedAtS = 100): string {
  const labels = 'method="POST",route="/v1/points/search"';
  const duration = 'vectord_http_request_duration_seconds_bucket';
  return [
    `process_start_time_seconds ${startedAtS}`,
    `vectord_http_requests_total{${labels},status="200"} ${searches * 0.9}`,
    `vectord_http_requests_total{${labels},status="400"} ${searches * 0.1}`,
    `vectord_http_requests_total{method="GET",route="/metrics",status="200"} 1000`,
    `vectord_grpc_requests_total{method="Search",status="OK"} 5`,
    `${duration}{${labels},le="0.001"} ${searches * 0.9}`,
    `${duration}{${labels},le="0.01"} ${searches}`,
    `${duration}{${labels},le="+Inf"} ${searches}`,
    'vectord_http_connections 2',
    'vectord_grpc_connections 3',
  ].join('\n');
}

function historyOf(searches: readonly number[]) {
  return searches.map((count, at) => snapshotOf(new Scrape(metricsAfter(count)), at * 2000));
}

describe('a history of snapshots', () => {
  const SEARCH = 'HTTP POST /v1/points/search';

  test('tells rates and latencies of what came between them', () => {
    const history = historyOf([0, 100, 100]);
    const requests = rates(history, (snapshot) => totalOf(snapshot, 'requests'));
    expect(requests).toEqual([undefined, 50, 0]);
    expect(latencies(history, SEARCH, 0.5)[1]).toBeCloseTo((0.5 / 0.9) * 0.001, 9);
    expect(latencies(history, SEARCH, 0.99)[2]).toBeCloseTo(0.0091, 9);
    expect(latencies(history, 'gRPC Search', 0.5)).toEqual([undefined, undefined, undefined]);
  });

  test('sums each operation up, without those that the page asks for', () => {
    const history = historyOf([0, 40, 80]);
    expect(summarize(history).map(({ name }) => name)).toEqual([SEARCH]);
    const [search] = summarize(history);
    expect(search?.perSecond).toBe(20);
    expect(search?.failedPerSecond).toBeCloseTo(2, 9);
    expect([...(history[0]?.operations.keys() ?? [])]).toEqual([SEARCH, 'gRPC Search']);
    expect(history[0]?.connections).toBe(5);
    expect(summarize(history.slice(0, 1))).toEqual([]);
  });

  test('forgets what is too old, and what was before a restart', () => {
    const [first, second] = historyOf([0, 10]);
    if (first === undefined || second === undefined) throw new Error('no history');
    expect(extend([first], second)).toEqual([first, second]);
    const later = { ...second, atMs: first.atMs + HISTORY_MS + 1 };
    expect(extend([first, second], later)).toEqual([second, later]);
    const restarted = snapshotOf(new Scrape(metricsAfter(3, 200)), 5000);
    expect(extend([first, second], restarted)).toEqual([restarted]);
  });
});
