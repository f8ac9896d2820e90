import { expect, test } from 'vitest';
import {
  assignPointIds,
  formatPointId,
  POINT_ID_BYTES,
  type PointIds,
} from '../../core/point-id.js';
import { writeIdLists, writeIds, type LargeJson } from './write-ids.js';

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

test('more than 64 Ki ids are written in chunks of some 600 KB, whose length is known', () => {
  const ids = assignPointIds(65_537);
  const text = piecesOf(writeIds('results', ids));
  expect(text === JSON.stringify({ results: texts(ids) })).toBe(true);
});

test.each([
  ['one large among small', [1, 0, 70_000, 0, 3]],
  ['many small', Array.from({ length: 30_000 }, (_, index) => index % 7)],
  ['very many empty', Array.from({ length: 1_000_000 }, () => 0)],
])('the same holds for lists of ids: %s', (_, counts) => {
  const lists = counts.map((count) => assignPointIds(count));
  const text = piecesOf(writeIdLists('results', lists));
  expect(text === JSON.stringify({ results: lists.map((ids) => texts(ids)) })).toBe(true);
});

function piecesOf(json: Buffer | LargeJson): string {
  if (Buffer.isBuffer(json)) throw new Error('written at once');
  const chunks = [...json.chunks];
  expect(chunks.length).toBeGreaterThan(4);
  for (const chunk of chunks) expect(chunk.length).toBeLessThan(700_000);
  const whole = Buffer.concat(chunks);
  expect(whole.length).toBe(json.length);
  return whole.toString();
}
