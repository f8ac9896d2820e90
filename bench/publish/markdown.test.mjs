import { expect, test } from 'vitest';
import { markdown } from './markdown.mjs';

const REPORT = {
  machine: { processor: 'a processor' },
  settings: { rounds: '7' },
  tables: [
    {
      title: 'Speed',
      rows: [
        { points: 1000, set: 'one', speed: { median: 2, least: 1.5, most: 2.25 }, bytes: 12 },
        { points: 20000, set: 'two', speed: { median: 3, least: 3, most: 3 }, bytes: '?' },
      ],
    },
    { title: 'Nothing', rows: [] },
  ],
  verdicts: [
    { what: 'one', found: { median: 0.7, least: 0.6, most: 1 }, target: 'at least 0.7', met: true },
    { what: 'two', found: 0.65, target: 'at least 0.7', met: false },
    { what: 'three', found: 'too few', target: 'at most 1', met: null },
  ],
};

test('a report names what it depends on, and shows its tables and its targets', () => {
  expect(markdown('A title', REPORT)).toBe(`# A title

- processor: a processor
- rounds: 7

## Speed

| points | set | speed | bytes |
| ---: | --- | ---: | ---: |
| 1,000 | one | 2.00 (1.50..2.25) | 12 |
| 20,000 | two | 3.00 (3.00..3.00) | ? |

## Targets

| figure | target | found | verdict |
| --- | --- | --- | --- |
| one | at least 0.7 | 0.7 (0.6..1.0) | met |
| two | at least 0.7 | 0.65 | **missed** |
| three | at most 1 | too few | open |
`);
});
