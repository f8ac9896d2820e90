import fc from 'fast-check';
import { expect, test } from 'vitest';
import { joinSmall } from './join-small.js';

/** What is left of pieces of these lengths that came one after the other. */
function gathered(lengths: readonly number[]): { pieces: Buffer[]; all: Buffer } {
  const pieces: Buffer[] = [];
  const sent: Buffer[] = [];
  for (const [index, length] of lengths.entries()) {
    const piece = Buffer.alloc(length, index);
    sent.push(piece);
    pieces.push(piece);
    joinSmall(pieces);
  }
  return { pieces, all: Buffer.concat(sent) };
}

test('the pieces hold the same bytes in the same order', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 100 }), (lengths) => {
      const { pieces, all } = gathered(lengths);
      expect(Buffer.concat(pieces).equals(all)).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test('a request in pieces of a byte is kept in few', () => {
  const { pieces, all } = gathered(Array<number>(100_000).fill(1));
  expect(all).toHaveLength(100_000);
  expect(pieces.length).toBeLessThan(50);
});

test('large pieces, and the few of an ordinary request, are kept as they came', () => {
  expect(gathered(Array<number>(100).fill(65_536)).pieces).toHaveLength(100);
  expect(gathered(Array<number>(10).fill(1)).pieces).toHaveLength(10);
});
