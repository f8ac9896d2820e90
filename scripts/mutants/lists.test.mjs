import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MUTANTS } from './lists.mjs';

test.each(MUTANTS)('there is one place to make the mistake: $name', ({ file, from }) => {
  expect(readFileSync(file, 'utf8').split(from).length - 1, `of ${from} in ${file}`).toBe(1);
});
