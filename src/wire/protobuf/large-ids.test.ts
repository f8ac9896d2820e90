import { expect, test } from 'vitest';
import { assignPointIds } from '../../core/point-id.js';
import { writeIdLists, writeIds } from './write-ids.js';
import { idListsAnswer, idsAnswer, LargeIds } from './large-ids.js';

function encoded(answer: unknown): Uint8Array {
  if (!(answer instanceof LargeIds)) throw new Error('left to the codec');
  const chunks = [...answer.chunks(new Uint8Array(), (bytes) => Buffer.alloc(bytes))];
  expect(chunks.length).toBeGreaterThanOrEqual(2);
  expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(2 ** 20);
  const bytes = answer.finish();
  expect(bytes.length).toBe(answer.byteLength);
  return bytes;
}

test('up to 64 Ki ids are left to the codec', () => {
  const ids = assignPointIds(65_536);
  expect(idsAnswer(ids)).toBe(ids);
  const lists = [ids];
  expect(idListsAnswer(lists)).toBe(lists);
});

test('more are encoded as the codec does it, in chunks of 16 Ki', () => {
  const ids = assignPointIds(65_537);
  const bytes = encoded(idsAnswer(ids));
  expect(Buffer.compare(bytes, writeIds(ids).finish())).toBe(0);
});

test.each([
  ['one large among small', [1, 0, 70_000, 0, 3]],
  ['many small', Array.from({ length: 30_000 }, (_, index) => index % 7)],
])('the same holds for lists of ids: %s', (_, counts) => {
  const lists = counts.map((count) => assignPointIds(count));
  const bytes = encoded(idListsAnswer(lists));
  expect(Buffer.compare(bytes, writeIdLists(lists).finish())).toBe(0);
});
