import { expect, test } from 'vitest';
import { BEFORE, boundOf, compare, ONE, TWO } from './loops-report.mjs';

function slice(rate, serverUs, p99Us) {
  return { rate, serverUs, clientUs: 50, latenciesUs: [100, p99Us] };
}

/** One round over 8 connections. */
function measured(servers) {
  return [{ connections: 8, full: [servers], paced: [servers], pacedRate: 2_000 }];
}

test.each([
  ['two loops share two cores with the client', 2, 1.5],
  ['they never answer more than twice as much', 16, 2],
])('%s', (_, cores, bound) => {
  expect(boundOf({ serverUs: 150, clientUs: 50 }, cores)).toBe(bound);
});

test('a second loop is judged beside one loop and its bound', () => {
  const servers = { [ONE]: slice(4_000, 150, 900), [TWO]: slice(5_400, 153, 600) };
  const { verdicts } = compare(measured(servers), 2);
  expect(verdicts.map(({ found, met }) => [found.median, met])).toEqual([
    [0.9, true],
    [1.02, true],
    [0.67, true],
  ]);
});

test('a second loop that reaches too little, costs too much and takes longer misses', () => {
  const servers = { [ONE]: slice(4_000, 150, 600), [TWO]: slice(5_000, 165, 900) };
  const { verdicts } = compare(measured(servers), 2);
  expect(verdicts.map(({ met }) => met)).toEqual([false, false, false]);
});

test('another build is compared with both', () => {
  const one = slice(4_000, 150, 900);
  const servers = { [ONE]: one, [TWO]: one, [BEFORE]: one };
  const { tables } = compare(measured(servers), 2);
  const ratios = tables.find(({ title }) => title === 'Side by side').rows;
  expect(ratios.map((row) => row.of)).toEqual([
    'two loops / one loop',
    'two loops / before',
    'one loop / before',
  ]);
});
