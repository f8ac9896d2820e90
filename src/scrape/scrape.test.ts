import { describe, expect, test } from 'vitest';
import { Exposition } from '../observe/exposition.js';
import { Latencies } from './latencies.js';
import { Scrape } from './scrape.js';

test('metrics are read as the service writes them', () => {
  const to = new Exposition();
  to.gauge('a_gauge', 'Help with "quotes" {and="braces"} 1', 2.5);
  to.counter('requests_total', 'Requests.', [
    [{ method: 'GET', route: '/points/:id', status: '200' }, 7],
    [{ text: 'a "quoted"\\ one,\nb="c"} 3' }, 1e21],
  ]);
  const durations = { bounds: [0.1, 1], counts: [3, 2, 1], sum: 4 };
  to.histogram('duration_seconds', 'Durations.', [[{ method: 'GET' }, durations]]);
  const metrics = new Scrape(to.text);
  expect(metrics.value('a_gauge')).toBe(2.5);
  expect(metrics.value('requests_total', { method: 'GET' })).toBe(7);
  expect(metrics.value('no_such_metric')).toBe(0);
  expect(metrics.all('no_such_metric')).toEqual([]);
  expect(metrics.all('requests_total')).toEqual([
    { labels: { method: 'GET', route: '/points/:id', status: '200' }, value: 7 },
    { labels: { text: 'a "quoted"\\ one,\nb="c"} 3' }, value: 1e21 },
  ]);
  expect(metrics.all('duration_seconds_bucket')).toEqual([
    { labels: { method: 'GET', le: '0.1' }, value: 3 },
    { labels: { method: 'GET', le: '1' }, value: 5 },
    { labels: { method: 'GET', le: '+Inf' }, value: 6 },
  ]);
});

describe('a quantile', () => {
  const latencies = new Latencies([
    { le: 1, count: 10 },
    { le: 2, count: 30 },
    { le: 4, count: 40 },
    { le: Infinity, count: 50 },
  ]);

  test.each([
    [0.1, 0.5],
    [0.2, 1],
    [0.4, 1.5],
    [0.6, 2],
    [0.7, 3],
    [0.99, 4],
  ])('%d of values in buckets lies within its bucket, at %d', (share, value) => {
    expect(latencies.quantile(share)).toBeCloseTo(value, 9);
  });

  test('of nothing is none', () => {
    expect(new Latencies([]).quantile(0.5)).toBeUndefined();
    expect(new Latencies([{ le: 1, count: 0 }]).quantile(0.5)).toBeUndefined();
  });
});
