import { expect, test } from 'vitest';
import { formatCount, formatCounted } from '../count.js';
import { formatDuration, formatLatency, formatRate } from './format.js';

test.each([
  [undefined, '-'],
  [0.000_25, '0.25 ms'],
  [0.004, '4.0 ms'],
  [0.25, '250 ms'],
  [2.5, '2.5 s'],
])('a latency of %d seconds is shown as %s', (seconds, text) => {
  expect(formatLatency(seconds)).toBe(text);
});

test.each([
  [0, '0'],
  [0.5, '0.5'],
  [99.94, '99.9'],
  [1234.5, '1,235'],
])('a rate of %d is shown as %s', (rate, text) => {
  expect(formatRate(rate)).toBe(text);
});

test.each([
  [0, '0 s'],
  [59.9, '59 s'],
  [61, '1 min 1 s'],
  [3 * 3600 + 12 * 60 + 5, '3 h 12 min'],
  [86_400, '1 d 0 h'],
])('a time of %d seconds is shown as %s', (seconds, text) => {
  expect(formatDuration(seconds)).toBe(text);
});

test('whole numbers have commas between thousands', () => {
  expect(formatCount(1_000_000)).toBe('1,000,000');
});

test('what is counted is in the singular for one alone', () => {
  expect([0, 1, 2].map((count) => formatCounted(count, 'point'))).toEqual([
    '0 points',
    '1 point',
    '2 points',
  ]);
  expect(formatCounted(1, 'query', 'queries')).toBe('1 query');
  expect(formatCounted(2, 'query', 'queries')).toBe('2 queries');
});
