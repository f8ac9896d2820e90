import { expect, test } from 'vitest';
import { majorityOf, othersOfEachMajority } from './quorum.js';

const COUNTS = [1, 2, 3, 4, 5, 6, 7];

test.each(COUNTS)('of %i replicas two majorities have one in common', (replicas) => {
  expect(2 * majorityOf(replicas)).toBeGreaterThan(replicas);
  expect(2 * (majorityOf(replicas) - 1)).toBeLessThanOrEqual(replicas);
});

test.each(COUNTS)(
  'of %i replicas so many others are in each majority of the last one',
  (replicas) => {
    const asked = othersOfEachMajority(replicas);
    const own = replicas - 1;
    const bits = (set: number) => set.toString(2).replaceAll('0', '').length;
    const sets = Array.from({ length: 2 ** replicas }, (_, set) => set);
    const majorities = sets.filter((set) => bits(set) >= majorityOf(replicas) && (set >> own) & 1);
    const meets = (set: number) =>
      majorities.every((majority) => (majority & set) !== 0 || majority === 1 << own);
    const others = (count: number) =>
      sets.filter((set) => bits(set) === count && !((set >> own) & 1));
    expect(others(asked).every(meets)).toBe(true);
    // Fewer do not suffice; one replica is a majority alone.
    expect(others(asked - 1).every(meets)).toBe(replicas === 1);
  },
);
