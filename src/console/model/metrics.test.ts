import { describe, expect, test } from 'vitest';
import { Exposition } from '../../observe/exposition.js';
import { parseMetrics, valueOf } from './exposition.js';
import { extend, HISTORY_MS, latencies, rates, summarize, totalOf } from './history.js';
import { quantile } from './quantile.js';
import { snapshotOf } from './snapshot.js';

describe('the metrics', () => {
  test('are read as the service writes them', () => {
    const to = new Exposition();
    to.gauge('a_gauge', 'Help with "quotes" {and="braces"} 1', 2.5);
    to.counter('requests_total', 'Requests.', [
      [{ method: 'GET', route: '/points/:id', status: '200' }, 7],
      [{ text: 'a "quoted"\\ one,\nb="c"} 3' }, 1e21],
    ]);
    const durations = { bounds: [0.1, 1], counts: [3, 2, 1], sum: 4 };
    to.histogram('duration_seconds', 'Durations.', [[{ method: 'GET' }, durations]]);
    const metrics = parseMetrics(to.text);
    expect(valueOf(metrics, 'a_gauge')).toBe(2.5);
    expect(metrics.get('requests_total')).toEqual([
      { labels: { method: 'GET', route: '/points/:id', status: '200' }, value: 7 },
      { labels: { text: 'a "quoted"\\ one,\nb="c"} 3' }, value: 1e21 },
    ]);
    expect(metrics.get('duration_seconds_bucket')).toEqual([
      { labels: { method: 'GET', le: '0.1' }, value: 3 },
      { labels: { method: 'GET', le: '1' }, value: 5 },
      { labels: { method: 'GET', le: '+Inf' }, value: 6 },
    ]);
  });

  test('have infinities and no numbers, and may come with times', () => {
    const metrics = parseMetrics(
      'a +Inf\nb -Inf\nc NaN\nd{x="y"} 3 1700000000000\n# TYPE e gauge\n',
    );
    expect(valueOf(metrics, 'a')).toBe(Infinity);
    expect(valueOf(metrics, 'b')).toBe(-Infinity);
    expect(valueOf(metrics, 'c')).toBeNaN();
    expect(valueOf(metrics, 'd')).toBe(3);
    expect(valueOf(metrics, 'e')).toBeUndefined();
  });
});

describe('a quantile', () => {
  const buckets = [
    { bound: 1, count: 10 },
    { bound: 2, count: 30 },
    { bound: 4, count: 40 },
    { bound: Infinity, count: 50 },
  ];

  test.each([
    [0.1, 0.5],
    [0.2, 1],
    [0.4, 1.5],
    [0.6, 2],
    [0.7, 3],
    [0.99, 4],
  ])('%d of values in buckets lies within its bucket, at %d', (q, value) => {
    expect(quantile(q, buckets)).toBeCloseTo(value, 9);
  });

  test('of nothing is none', () => {
    expect(quantile(0.5, [])).toBeUndefined();
    expect(quantile(0.5, [{ bound: 1, count: 0 }])).toBeUndefined();
  });
});

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
  return searches.map((count, at) => snapshotOf(parseMetrics(metricsAfter(count)), at * 2000));
}

describe('a history of snapshots', () => {
  const SEARCH = 'POST /v1/points/search';

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
    const restarted = snapshotOf(parseMetrics(metricsAfter(3, 200)), 5000);
    expect(extend([first, second], restarted)).toEqual([restarted]);
  });
});
