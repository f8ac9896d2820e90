import { expect, test } from 'vitest';
import { VectordError, type ErrorCode } from '../../core/errors.js';
import { nameItems, writeParts } from './write-parts.js';

/** Parts of which each ends in this way: written, or with an error of this code. */
async function write(...ends: (ErrorCode | 'written')[]): Promise<unknown> {
  const parts = ends.map((end, shard) => ({ shard, end }));
  return await writeParts(
    parts,
    async ({ shard, end }) => {
      if (end !== 'written') throw new VectordError(end, `why ${shard}`);
      return await Promise.resolve(shard);
    },
    { mend: 'send it again' },
  ).catch(({ code, message }: VectordError) => `${code}: ${message}`);
}

const IN_PART = 'OUTCOME_UNKNOWN: the request may be written in part:';

test('what all parts answer is answered in their order', async () => {
  expect(await write('written', 'written', 'written')).toEqual([0, 1, 2]);
  expect(await write()).toEqual([]);
});

test('where nothing is written, for certain, the error is that of the first part', async () => {
  expect(await write('STORAGE_FULL', 'UNAVAILABLE')).toBe('STORAGE_FULL: shard 0: why 0');
});

test('the error of the only part is told with its shard, if that matters', async () => {
  expect(await write('OUTCOME_UNKNOWN')).toBe('OUTCOME_UNKNOWN: shard 0: why 0');
  expect(await write('INTERNAL')).toBe('INTERNAL: why 0');
});

test('else nobody is told that nothing was written', async () => {
  expect(await write('written', 'UNAVAILABLE', 'written', 'STORAGE_FULL')).toBe(
    `${IN_PART} written in shard 0 and shard 2; not written in shard 1 and shard 3, as why 1; send it again`,
  );
  expect(await write('OVERLOADED', 'OUTCOME_UNKNOWN')).toBe(
    `${IN_PART} not written in shard 0, as why 0; not known to be written in shard 1, as why 1; ` +
      'send it again',
  );
  expect(await write('written', 'INTERNAL', 'OUTCOME_UNKNOWN')).toBe(
    `${IN_PART} written in shard 0; not known to be written in shard 1 and shard 2, as why 1; ` +
      'send it again',
  );
});

test('the first items of a part are named', () => {
  const name = (index: number): string => `points[${index}]`;
  expect(nameItems(Uint32Array.of(4), name)).toBe('1 point: points[4]');
  expect(nameItems(Uint32Array.of(4, 6, 9), name)).toBe(
    '3 points: points[4], points[6], points[9]',
  );
  expect(nameItems(Uint32Array.of(4, 6, 9, 10), name)).toBe(
    '4 points: points[4], points[6], points[9], ...',
  );
});
