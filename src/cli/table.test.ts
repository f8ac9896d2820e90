import { expect, test } from 'vitest';
import { tableLines } from './table.js';

test('columns are aligned, those of numbers at their ends', () => {
  const rows = [
    ['NAME', 'ROLE', 'COUNT'],
    ['a', 'readwrite', '1'],
    ['long name', 'ro', '1,000,000'],
  ];
  expect(tableLines(rows, 2)).toEqual([
    'NAME       ROLE           COUNT',
    'a          readwrite          1',
    'long name  ro         1,000,000',
  ]);
  expect(tableLines(rows)[1]).toBe('a          readwrite  1');
});
