import { validate, version } from 'uuid';
import { expect, test } from 'vitest';
import { assignPointIds, formatPointId, parsePointId, POINT_ID_BYTES } from './point-id.js';

test('assigned ids are version 4 UUIDs, all different', () => {
  const ids = assignPointIds(1000);
  const texts = Array.from({ length: 1000 }, (_, index) =>
    formatPointId(ids.subarray(index * POINT_ID_BYTES, (index + 1) * POINT_ID_BYTES)),
  );
  for (const text of texts) expect([validate(text), version(text)]).toEqual([true, 4]);
  expect(new Set(texts).size).toBe(1000);
});

test('either case of an id is the same id, written in lower case', () => {
  const text = '01234567-89ab-4cde-8f01-23456789abcd';
  const id = parsePointId(text.toUpperCase());
  expect(id).toEqual(parsePointId(text));
  expect(id === undefined ? '' : formatPointId(id)).toBe(text);
});

test.each([
  '',
  'not-a-uuid',
  '0123456789ab4cde8f0123456789abcd',
  '{01234567-89ab-4cde-8f01-23456789abcd}',
  'urn:uuid:01234567-89ab-4cde-8f01-23456789abcd',
  '01234567-89ab-4cde-8f01-23456789abc',
  '01234567-89ab-4cde-8f01-23456789abcde',
  '01234567-89ab-4cde-8f01-23456789abcg',
  ' 01234567-89ab-4cde-8f01-23456789abcd',
  '01234567-89ab-4cde-8f01-23456789abcd\n',
])('%j is not a UUID', (text) => {
  expect(parsePointId(text)).toBeUndefined();
});
