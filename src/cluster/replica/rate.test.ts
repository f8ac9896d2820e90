import { expect, test } from 'vitest';
import { Rate } from './rate.js';

test('counts what happens in a second', () => {
  const rate = new Rate();
  expect(rate.perSecond).toBe(0);
  for (let ms = 0; ms < 1_000; ms += 10) rate.note(ms);
  expect(rate.perSecond).toBe(100);
  // Of a second that has just begun the last one tells more.
  rate.note(1_000);
  expect(rate.perSecond).toBe(100);
});

test('forgets what was before a pause', () => {
  const rate = new Rate();
  for (let ms = 0; ms < 1_000; ms += 10) rate.note(ms);
  rate.note(5_000);
  expect(rate.perSecond).toBe(1);
});
