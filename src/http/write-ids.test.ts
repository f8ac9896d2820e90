import { expect, test } from 'vitest';
import { assignPointIds, formatPointId, POINT_ID_BYTES, type PointIds } from '../point-id.js';
import { writeIdLists, writeIds } from './write-ids.js';

function texts(ids: PointIds): string[] {
  return Array.from({ length: ids.length / POINT_ID_BYTES }, (_, index) =>
    formatPointId(ids.subarray(index * POINT_ID_BYTES, (index + 1) * POINT_ID_BYTES)),
  );
}

test.each([0, 1, 2, 100])('a list of %d ids is what JSON.stringify writes', (count) => {
  const ids = assignPointIds(count);
  expect(writeIds('point_ids', ids).toString()).toBe(JSON.stringify({ point_ids: texts(ids) }));
});

test.each([[[]], [[0]], [[1, 0, 3]]])(
  'lists of %j ids are what JSON.stringify writes',
  (counts) => {
    const lists = counts.map((count) => assignPointIds(count));
    const expected = JSON.stringify({ results: lists.map((ids) => texts(ids)) });
    expect(writeIdLists('results', lists).toString()).toBe(expected);
  },
);
