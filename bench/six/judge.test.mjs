import { expect, test } from 'vitest';
import { judge } from './judge.mjs';

const OLDER = [100, 102, 98, 101, 99, 100, 100, 100, 100, 100];
const times = (factor) => OLDER.map((value) => value * factor);

test.each([
  ['as fast', OLDER, times(1), true],
  ['faster', OLDER, times(0.8), true],
  ['slower within the margin', OLDER, times(1.029), true],
  ['slower', OLDER, times(1.04), false],
  ['slower within the noise', times(1.05), times(1.04), true],
  ['slower, with a single slow turn of the twin', [...OLDER.slice(1), 150], times(1.04), false],
])('what is %s is judged so', (_, again, newer, met) => {
  expect(judge([OLDER, again, newer]).met).toBe(met);
});
