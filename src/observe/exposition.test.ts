import { expect, test } from 'vitest';
import { Exposition } from './exposition.js';
import { Histogram } from './histogram.js';

test('a histogram counts each value up to every bound that is not below it', () => {
  const histogram = new Histogram([0.5, 1]);
  for (const value of [0.25, 0.5, 0.75, 8]) histogram.add(value);
  const to = new Exposition();
  to.histogram('x_seconds', 'X.', [[{ a: 'b' }, histogram]]);
  expect(to.text).toBe(
    '# HELP x_seconds X.\n# TYPE x_seconds histogram\n' +
      'x_seconds_bucket{a="b",le="0.5"} 2\nx_seconds_bucket{a="b",le="1"} 3\n' +
      'x_seconds_bucket{a="b",le="+Inf"} 4\nx_seconds_sum{a="b"} 9.5\nx_seconds_count{a="b"} 4\n',
  );
});

test('bounds and sums are told in the unit of the name', () => {
  const to = new Exposition();
  to.histogram('x_seconds', 'X.', [[{}, { bounds: [100], counts: [1, 0], sum: 70 }]], 1e6);
  expect(to.text).toContain('x_seconds_bucket{le="0.0001"} 1\n');
  expect(to.text).toContain('x_seconds_sum 0.00007\n');
});

test('what would end a label early is escaped', () => {
  const to = new Exposition();
  to.gauge('x', 'X.', [[{ a: '"\\\n' }, 1]]);
  expect(to.text).toContain('x{a="\\"\\\\\\n"} 1\n');
});
