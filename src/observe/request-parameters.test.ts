import { expect, test } from 'vitest';
import { parametersOf } from './request-parameters.js';

const vector = Float32Array.of(1, 2);

test('a query tells its similarity, its limit and the breadth that it names', () => {
  const query = { vector, similarity: 3, limit: 10 };
  const parameters = { queries: 1, similarity: 'Cosine', limit: 10 };
  expect(parametersOf(query)).toEqual(parameters);
  expect(parametersOf({ ...query, limit: 10n, ef: 0n })).toEqual(parameters);
  expect(parametersOf({ ...query, ef: 500n })).toEqual({ ...parameters, ef: 500 });
});

test('queries tell how many there are, and the greatest of each', () => {
  const batch = {
    vectors: vector,
    similarities: Uint8Array.of(0, 2, 0),
    limits: Uint32Array.of(1, 30, 2),
    efs: Uint32Array.of(400, 1, 100),
  };
  const similarity = ['Euclidean', 'Hamming'];
  const parameters = { queries: 3, similarity, limit: 30 };
  expect(parametersOf(batch)).toEqual({ ...parameters, ef: 400 });
  expect(parametersOf({ ...batch, efs: new Uint32Array(3) })).toEqual(parameters);
});

test('what nobody has read yet tells nothing, however long it is', () => {
  expect(parametersOf(Buffer.alloc(64 * 1024 * 1024))).toEqual({});
});

test('points tell how many there are, and nothing of what they hold', () => {
  const batch = { vectors: vector, contents: vector, contentEnds: Uint32Array.of(1, 2, 3) };
  expect(parametersOf(batch)).toEqual({ items: 3 });
});

test.each([undefined, null, {}, { id: { value: 'x' } }, new Error('x'), Buffer.from('x')])(
  'what is neither, or could not be read, weighs nothing: %s',
  (asked) => {
    expect(parametersOf(asked)).toEqual({});
  },
);
