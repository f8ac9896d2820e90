import { expect, test } from 'vitest';
import { Positions } from './positions.js';

const REMEMBERED = 65_536;

test('the positions since the start are remembered, and none before or after', () => {
  const positions = new Positions();
  positions.begin({ sequence: 10, chain: 7 });
  const elsewhere = new Positions(positions.memory);
  positions.note({ sequence: 11, chain: 2 ** 32 - 1 });
  expect(elsewhere.last).toEqual({ sequence: 11, chain: 2 ** 32 - 1 });
  expect(elsewhere.at(9)).toBeUndefined();
  expect(elsewhere.at(10)).toEqual({ sequence: 10, chain: 7 });
  expect(elsewhere.at(11)).toEqual({ sequence: 11, chain: 2 ** 32 - 1 });
  expect(elsewhere.at(12)).toBeUndefined();
});

test('the last position is the greatest that was noted', () => {
  const positions = new Positions();
  expect(positions.last).toEqual({ sequence: 0, chain: 0 });
  positions.note({ sequence: 2 ** 40, chain: 5 });
  new Positions(positions.memory).note({ sequence: 7, chain: 6 });
  expect(positions.last).toEqual({ sequence: 2 ** 40, chain: 5 });
});

test('what has been written over is not told', () => {
  const positions = new Positions();
  positions.begin({ sequence: 0, chain: 0 });
  for (let sequence = 1; sequence <= REMEMBERED; sequence += 1) {
    positions.note({ sequence, chain: sequence + 5 });
  }
  expect(positions.at(0)).toBeUndefined();
  // Its place may be written over just now.
  expect(positions.at(1)).toBeUndefined();
  expect(positions.at(2)).toEqual({ sequence: 2, chain: 7 });
  expect(positions.at(REMEMBERED)).toEqual({ sequence: REMEMBERED, chain: REMEMBERED + 5 });
});
