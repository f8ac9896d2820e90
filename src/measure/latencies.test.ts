import { expect, test } from 'vitest';
import { Latencies } from './latencies.js';

test('a percentile is a time that so many of a hundred calls did not exceed', () => {
  const latencies = new Latencies();
  expect(latencies.percentiles(50, 99)).toEqual([0, 0]);
  for (let ms = 200; ms > 0; ms -= 1) latencies.add(ms);
  expect(latencies.percentiles(50, 95, 99, 100)).toEqual([100, 190, 198, 200]);
  expect(latencies.count).toBe(200);
});
