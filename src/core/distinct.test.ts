import { describe, expect, it } from 'vitest';
import { checkDistinct, distinct } from './distinct.js';

function idsOf(...numbers: number[]): Uint8Array {
  const ids = new Uint8Array(16 * numbers.length);
  for (const [at, number] of numbers.entries()) ids[16 * at + 15] = number;
  return ids;
}

const describePoint = (index: number): string => `points[${index}]: `;

describe('checkDistinct', () => {
  it('accepts ids that differ in any byte', () => {
    const ids = idsOf(1, 2, 255);
    ids[0] = 1;
    expect(() => checkDistinct(ids, describePoint)).not.toThrow();
    expect(() => checkDistinct(new Uint8Array(), describePoint)).not.toThrow();
  });

  it('names both places of an id', () => {
    const message = 'points[3]: id is that of points[1], expected each id once';
    expect(() => checkDistinct(idsOf(1, 2, 3, 2, 2), describePoint)).toThrow(message);
  });
});

describe('distinct', () => {
  it('keeps each id at its first place', () => {
    expect(distinct(idsOf(3, 1, 3, 2, 1))).toEqual(idsOf(3, 1, 2));
    expect(distinct(idsOf(3, 1))).toEqual(idsOf(3, 1));
    expect(distinct(new Uint8Array())).toEqual(new Uint8Array());
  });

  it('reads ids within other memory', () => {
    expect(distinct(idsOf(9, 1, 1, 9).subarray(16, 48))).toEqual(idsOf(1));
  });
});
