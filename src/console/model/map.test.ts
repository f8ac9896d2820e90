import { describe, expect, test } from 'vitest';
import { colouringBy, fieldsOf, MOST_GROUPS } from './colouring.js';
import { nearestTo, nextTowards, type Position } from './positions.js';

describe('a colouring', () => {
  test('has the values of a field, the most frequent first, and those without it', () => {
    const points = [{ a: 'x' }, { a: 'y' }, { a: 'y' }, null, { a: ['y'] }, { a: true }];
    const { groups, groupOf } = colouringBy(points, 'a');
    expect(groups.map(({ label, count }) => [label, count])).toEqual([
      ['y', 2],
      ['x', 1],
      ['none', 1],
      ['["y"]', 1],
      ['true', 1],
    ]);
    expect(groupOf).toEqual([1, 0, 0, 2, 3, 4]);
  });

  test('puts the values beyond the most that can be told apart into one group', () => {
    const points = Array.from({ length: 20 }, (_, at) => ({ a: `value ${at}` }));
    const { groups, groupOf } = colouringBy([{ a: 'value 19' }, ...points], 'a');
    expect(groups).toHaveLength(MOST_GROUPS);
    expect(groups[0]).toEqual({ label: 'value 19', count: 2 });
    expect(groups.at(-1)).toEqual({ label: 'other', count: 13 });
    expect(Math.max(...groupOf)).toBe(MOST_GROUPS - 1);
  });

  test('puts many numbers into ranges in their order, with about as many points each', () => {
    const points = Array.from({ length: 100 }, (_, at) => ({ year: (at * 37) % 100 }));
    const { groups, groupOf } = colouringBy([...points, null], 'year');
    expect(groups.map(({ label, count }) => `${label}: ${count}`)).toEqual([
      'below 20: 20',
      '20 to 40: 20',
      '40 to 60: 20',
      '60 to 80: 20',
      '80 and more: 20',
      'none: 1',
    ]);
    expect(groupOf[1]).toBe(1);
  });

  test('is offered by fields that tell points apart', () => {
    const points = Array.from({ length: 10 }, (_, at) => ({
      same: 'x',
      own: `text ${at}`,
      kind: at % 2 === 0 ? 'even' : 'odd',
      number: at,
    }));
    expect(fieldsOf(points)).toEqual(['kind', 'number']);
    expect(fieldsOf([null, undefined])).toEqual([]);
  });
});

describe('positions', () => {
  const positions: Position[] = [
    [0, 0],
    [10, 1],
    [4, 9],
    [0, -5],
    [30, 0],
  ];

  test('the nearest to a place is found, within reach', () => {
    expect(nearestTo(positions, [9, 3])).toBe(1);
    expect(nearestTo(positions, [9, 30], 8)).toBeUndefined();
    expect(nearestTo([], [0, 0])).toBeUndefined();
  });

  test.each([
    ['right', 1],
    ['down', 2],
    ['up', 3],
    ['left', undefined],
  ] as const)('the next one to the %s is found', (direction, next) => {
    expect(nextTowards(positions, 0, direction)).toBe(next);
  });
});
