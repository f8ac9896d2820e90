import { expect, test } from 'vitest';
import { drawFrom } from './reservoir.js';

test('each choice of two out of four is drawn equally often', () => {
  const drawn = new Map<string, number>();
  // All that the two random numbers can lead to: one of three places, then one of four.
  for (let at = 0; at < 12; at += 1) {
    const numbers = [(at % 3) / 3, Math.floor(at / 3) / 4];
    const pair = drawFrom(['a', 'b', 'c', 'd'], 2, () => numbers.shift() ?? NaN);
    const name = pair.toSorted().join('');
    drawn.set(name, (drawn.get(name) ?? 0) + 1);
  }
  expect(Object.fromEntries(drawn)).toEqual({ ab: 2, ac: 2, ad: 2, bc: 2, bd: 2, cd: 2 });
});

test('no item is drawn twice, and all are where they are few', () => {
  const items = Array.from({ length: 1_000 }, (_, at) => at);
  expect(new Set(drawFrom(items, 100))).toHaveLength(100);
  expect(drawFrom(items, 1_000)).toEqual(items);
  expect(drawFrom(items, 1_001)).toEqual(items);
  expect(drawFrom([], 2)).toEqual([]);
});
