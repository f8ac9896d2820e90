import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import * as generated from '../../gen/vectordb/vectordb.js';
import {
  assignPointIds,
  formatPointId,
  POINT_ID_BYTES,
  type PointIds,
} from '../../core/point-id.js';
import { writeIdLists, writeIds } from './write-ids.js';
import { writePoint } from './write-point.js';

test.each([0, 1, 100])('a list of %d ids is what the generated codec writes', (count) => {
  const ids = assignPointIds(count);
  const bytes = new Uint8Array(writeIds(ids).finish());
  expect(bytes).toEqual(generated.SearchResponse.encode(responseOf(ids)).finish());
  const inserted = { ids: responseOf(ids).resultPointIds };
  expect(bytes).toEqual(generated.InsertVectorsBatchResponse.encode(inserted).finish());
});

test('lists of ids are what the generated codec writes', () => {
  const lists = [1, 0, 20].map((count) => assignPointIds(count));
  const response = { results: lists.map(responseOf) };
  const expected = generated.SearchPointsBatchResponse.encode(response).finish();
  expect(writeIdLists(lists).finish()).toEqual(expected);
});

test('a point is what the generated codec writes, also from a part of a larger array', () => {
  const id = randomUUID();
  const vector = Float32Array.of(9, 1.5, -0, 1e-45, 3.4e38, 9).subarray(1, 5);
  const payload = { contentType: 1, content: 'Ω\u0000😀' } as const;
  const point = { id: { id: { value: id } }, payload, vector: { values: [...vector] } };
  const expected = generated.Point.encode(point).finish();
  expect(writePoint({ id, payload, vector }).finish()).toEqual(expected);
});

function responseOf(ids: PointIds): generated.SearchResponse {
  const count = ids.length / POINT_ID_BYTES;
  const resultPointIds = Array.from({ length: count }, (_, index) => {
    const id = ids.subarray(index * POINT_ID_BYTES, (index + 1) * POINT_ID_BYTES);
    return { id: { value: formatPointId(id) } };
  });
  return { resultPointIds };
}
