import { expect, test } from 'vitest';
import { Chains } from './chains.js';

const REMEMBERED = 65_536;

test('the positions since the start are remembered, and none before or after', () => {
  const chains = new Chains({ sequence: 10, chain: 7 });
  chains.add({ sequence: 11, chain: 2 ** 32 - 1 });
  expect(chains.last).toBe(11);
  expect(chains.at(9)).toBeUndefined();
  expect(chains.at(10)).toEqual({ sequence: 10, chain: 7 });
  expect(chains.at(11)).toEqual({ sequence: 11, chain: 2 ** 32 - 1 });
  expect(chains.at(12)).toBeUndefined();
});

test('what has been written over is not told', () => {
  const chains = new Chains({ sequence: 0, chain: 0 });
  for (let sequence = 1; sequence <= REMEMBERED; sequence += 1) {
    chains.add({ sequence, chain: sequence + 5 });
  }
  expect(chains.at(0)).toBeUndefined();
  expect(chains.at(1)).toEqual({ sequence: 1, chain: 6 });
  expect(chains.at(REMEMBERED)).toEqual({ sequence: REMEMBERED, chain: REMEMBERED + 5 });
});
