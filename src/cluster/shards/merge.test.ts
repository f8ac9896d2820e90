import { expect, test } from 'vitest';
import { POINT_ID_BYTES } from '../../core/point-id.js';
import type { Found } from '../../core/records.js';
import { merge } from './merge.js';

const NONE = new Uint8Array();

/** What a shard has found: for each query the distances, of points with ids of this byte and the next. */
function leg(first: number, ...queries: number[][]): Found {
  const distances = Float64Array.from(queries.flat());
  const ids = new Uint8Array(distances.length * POINT_ID_BYTES);
  for (let at = 0; at < distances.length; at += 1) ids[at * POINT_ID_BYTES] = first + at;
  return {
    counts: Uint32Array.from(queries, ({ length }) => length),
    distances,
    records: {
      ids,
      vectors: new Float32Array(),
      contentTypes: NONE,
      contents: NONE,
      contentEnds: new Uint32Array(),
      metadata: NONE,
      metadataEnds: new Uint32Array(),
    },
  };
}

function merged(legs: readonly Found[], limits: number[], likes: number[]): object {
  const ids = new Uint8Array(likes.length * POINT_ID_BYTES);
  for (const [query, like] of likes.entries()) ids[query * POINT_ID_BYTES] = like;
  const { counts, lists, indices, distances } = merge(legs, {
    limits: Uint32Array.from(limits),
    likes: ids,
  });
  return [[...counts], [...lists], [...indices], [...distances]];
}

test('the nearest of each query come first, of equal ones those of the first shard in its order', () => {
  const legs = [leg(1, [1, 2, 2], [], [7]), leg(11, [0, 2, 3], [5], [7, 7]), leg(21, [2], [4], [])];
  expect(merged(legs, [6, 9, 2], [0, 0, 0])).toEqual([
    [6, 2, 2],
    [1, 0, 0, 0, 1, 2, 2, 1, 0, 1],
    [0, 0, 1, 2, 1, 0, 1, 3, 3, 4],
    [0, 1, 2, 2, 2, 2, 4, 5, 7, 7],
  ]);
});

test('a point is not among its own neighbours, and takes no place of them', () => {
  const legs = [leg(1, [0, 2], [0, 1]), leg(11, [0, 1], [0, 3])];
  expect(merged(legs, [2, 2], [11, 4])).toEqual([
    [2, 2],
    [0, 1, 0, 1],
    [0, 1, 2, 2],
    [0, 1, 0, 0],
  ]);
});

test('of no neighbours there are none', () => {
  expect(merged([leg(1, []), leg(11, [])], [5], [0])).toEqual([[0], [], [], []]);
});
