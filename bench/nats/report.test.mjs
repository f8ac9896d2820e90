import { expect, test } from 'vitest';
import { tableOf } from './report.mjs';

function round(fault, more) {
  return {
    fault,
    hung: false,
    afterHealMs: 1_000,
    allCurrentMs: 2_000,
    acknowledged: 10,
    lost: 0,
    twice: 0,
    gaps: 0,
    unknown: 0,
    compareAndSet: true,
    ...more,
  };
}

test('rounds of a fault are one row, with the longest wait and all that is wrong', () => {
  const table = tableOf([
    round('one killed'),
    round('two killed', { lost: 2, twice: 1, compareAndSet: false }),
    round('one killed', { afterHealMs: 3_000, hung: true, allCurrentMs: null, unknown: 1 }),
    round('one killed', { afterHealMs: 1_500 }),
  ]);
  const rows = table.split('\n').slice(2);
  expect(rows).toEqual([
    '| one killed | 3 | 1 | 1.5 s | 3.0 s | 1 | 30 | 0 | 0 | 0 | 1 | 0 |',
    '| two killed | 1 | 0 | 1.0 s | 1.0 s | 0 | 10 | 2 | 1 | 0 | 0 | 1 |',
  ]);
});
