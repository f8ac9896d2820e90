import { expect, test } from 'vitest';
import {
  formatBytes,
  formatCount,
  formatCounted,
  formatDistance,
  formatDuration,
  formatLatency,
  formatNumber,
} from './format.js';

test.each([
  [formatCount(1234567), '1,234,567'],
  [formatCounted(0, 'point'), '0 points'],
  [formatCounted(1, 'point'), '1 point'],
  [formatCounted(76_000, 'point'), '76,000 points'],
  [formatNumber(0.012345), '0.0123'],
  [formatNumber(12345.6), '12,346'],
  [formatBytes(0), '0 B'],
  [formatBytes(1536), '1.5 KiB'],
  [formatBytes(5 * 1024 ** 3), '5 GiB'],
  [formatLatency(0.00123), '1.23 ms'],
  [formatLatency(2.5), '2.5 s'],
  [formatDuration(0.4), '0 s'],
  [formatDuration(59), '59 s'],
  [formatDuration(3600 * 27 + 60), '1 d 3 h'],
  [formatDuration(720), '12 min'],
  [formatDistance(0.123456789), '0.123457'],
  [formatDistance(3), '3'],
  [formatBytes(undefined), '–'],
])('%j is written as %j', (found, expected) => {
  expect(found).toBe(expected);
});
