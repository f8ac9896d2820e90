import { expect, test } from 'vitest';
import { Hedge } from './hedge.js';

test('another replica is asked after the time of 95 of the last 100 calls', () => {
  const hedge = new Hedge();
  for (let call = 1; call <= 100; call += 1) hedge.note(call);
  expect(hedge.begin()).toBe(96);
  // What was long ago counts no more.
  for (let call = 1; call <= 1_000; call += 1) hedge.note(20);
  expect(hedge.begin()).toBe(20);
});

test('not at once where all are fast, nor soon where nothing is known', () => {
  const hedge = new Hedge();
  expect(hedge.begin()).toBe(100);
  for (let call = 1; call <= 100; call += 1) hedge.note(0.1);
  expect(hedge.begin()).toBe(5);
});

test('for five calls in a hundred, whatever is slow', () => {
  const hedge = new Hedge();
  let taken = 0;
  for (let call = 1; call <= 10_000; call += 1) {
    hedge.begin();
    if (hedge.take()) taken += 1;
  }
  expect(taken).toBeGreaterThan(490);
  expect(taken).toBeLessThanOrEqual(501);
});

test('a quiet while is followed by ten of them at most', () => {
  const hedge = new Hedge();
  for (let call = 1; call <= 1_000; call += 1) hedge.begin();
  const taken = Array.from({ length: 20 }, () => hedge.take());
  expect(taken.filter(Boolean)).toHaveLength(10);
});
