import { describe, expect, test } from 'vitest';
import { Exposition } from '../../observe/exposition.js';
import { Histogram } from '../../observe/histogram.js';
import { activityBetween } from './activity.js';
import { Latencies } from '../../scrape/latencies.js';
import { Scrape } from '../../scrape/scrape.js';

describe('a quantile', () => {
  const latencies = new Latencies([
    { le: Number.POSITIVE_INFINITY, count: 10 },
    { le: 0.1, count: 2 },
    { le: 0.2, count: 8 },
    { le: 0.4, count: 8 },
  ]);

  test.each([
    [0.1, 0.05],
    [0.2, 0.1],
    [0.5, 0.15],
    [0.8, 0.2],
    // Beyond the last bound nothing is known but the bound.
    [0.99, 0.4],
  ])('of %d lies in its bucket, values taken to lie evenly', (share, seconds) => {
    expect(latencies.quantile(share)).toBeCloseTo(seconds, 10);
  });

  test('of no values is none', () => {
    expect(new Latencies([{ le: 1, count: 0 }]).quantile(0.5)).toBeUndefined();
    expect(new Latencies([]).quantile(0.5)).toBeUndefined();
  });
});

test('labels are read as they were written', () => {
  const exposition = new Exposition();
  exposition.gauge('x', 'Some help.', [[{ a: 'q"\\\n,{}', b: '' }, 2]]);
  const [sample] = new Scrape(exposition.text).all('x');
  expect(sample).toEqual({ labels: { a: 'q"\\\n,{}', b: '' }, value: 2 });
});

describe('between two looks', () => {
  /** Counters of a service: requests that took 1.5 ms, errors among them, and commits. */
  function look(atMs: number, startS: number, requests: number, errors: number, commits: number) {
    const to = new Exposition();
    to.gauge('process_start_time_seconds', 'x', startS);
    to.counter('process_cpu_seconds_total', 'x', commits / 10);
    for (const [protocol, labels, good, bad] of [
      ['http', { method: 'POST', route: '/points' }, '201', '400'],
      ['grpc', { method: 'a/B' }, 'OK', 'NOT_FOUND'],
    ] as const) {
      const durations = new Histogram([0.001, 0.002]);
      for (let count = 0; count < requests; count += 1) durations.add(0.001_5);
      to.counter(`vectord_${protocol}_requests_total`, 'x', [
        [{ ...labels, status: good }, requests - errors],
        [{ ...labels, status: bad }, errors],
      ]);
      to.histogram(`vectord_${protocol}_request_duration_seconds`, 'x', [
        [labels, durations],
        [{ method: 'idle' }, new Histogram([0.001, 0.002])],
      ]);
    }
    const taken = new Histogram([0.001, 0.002]);
    const records = new Histogram([10, 100]);
    for (let count = 0; count < commits; count += 1) {
      taken.add(0.000_5);
      records.add(20);
    }
    to.histogram('vectord_commit_duration_seconds', 'x', [[{}, taken]]);
    to.histogram('vectord_commit_records', 'x', [[{}, records]]);
    return { atMs, metrics: new Scrape(to.text), info: undefined };
  }

  test('rates and latencies are those of what was added', () => {
    const found = activityBetween(look(0, 1, 100, 10, 10), look(2_000, 1, 140, 16, 20));
    expect(found).toMatchObject({ commitsPerSecond: 5, recordsPerSecond: 100, cores: 0.5 });
    expect(found.commits.quantile(0.5)).toBeCloseTo(0.000_5, 10);
    expect(found.operations).toMatchObject([
      { name: 'HTTP POST /points', perSecond: 20, errorsPerSecond: 3 },
      { name: 'gRPC a/B', perSecond: 20, errorsPerSecond: 3 },
    ]);
    for (const { latencies } of found.operations) {
      expect(latencies.count).toBe(40);
      expect(latencies.quantile(0.5)).toBeCloseTo(0.001_5, 10);
    }
  });

  test('nothing is shown of what nobody asked for', () => {
    const before = look(0, 1, 100, 10, 10);
    expect(activityBetween(before, { ...before, atMs: 1_000 }).operations).toEqual([]);
  });

  test('a process that has started meanwhile has counted from 0 on', () => {
    const found = activityBetween(look(0, 1, 100, 10, 10), look(2_000, 5, 4, 2, 2));
    expect(found).toMatchObject({ commitsPerSecond: 1, recordsPerSecond: 20 });
    expect(found.operations[0]).toMatchObject({ perSecond: 2, errorsPerSecond: 1 });
  });
});
