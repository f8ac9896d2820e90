import { expect, test } from 'vitest';
import { MemoryBudget, Reservation } from './memory-budget.js';

const KIB = 1024;

test('large requests, however many, leave a part of the budget to small ones', () => {
  const inflight = new MemoryBudget(8_000 * KIB);
  const large = Array.from({ length: 7 }, () => new Reservation(inflight));
  for (const each of large) each.take(1_000 * KIB);
  expect(() => new Reservation(inflight).take(65 * KIB)).toThrow('MAX_INFLIGHT_BYTES');
  const growing = new Reservation(inflight);
  growing.take(64 * KIB);
  expect(() => growing.take(1)).toThrow('MAX_INFLIGHT_BYTES');
  const small = Array.from({ length: 14 }, () => new Reservation(inflight));
  for (const each of small) each.take(64 * KIB);
  growing.end();
  expect(() => inflight.check(1_000 * KIB)).toThrow('MAX_INFLIGHT_BYTES');
  for (const each of large) each.end();
  expect(() => inflight.check(1_000 * KIB)).not.toThrow();
  for (const each of small) each.end();
  // Nobody would be left to give it back.
  growing.take(64 * KIB);
  expect(inflight.usedBytes).toBe(0);
});

test('one request of the greatest size always fits a budget that is no smaller', () => {
  const inflight = new MemoryBudget(1_000 * KIB, 1_000 * KIB);
  const largest = new Reservation(inflight);
  largest.take(1_000 * KIB);
  expect(() => inflight.check(1)).toThrow('MAX_INFLIGHT_BYTES');
});
