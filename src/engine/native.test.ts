import { beforeEach, expect, test } from 'vitest';
import { makeTemporaryFolder } from '../../test/support/folders.js';
import { ContentType, Similarity } from '../core/model.js';
import { Engine } from './native.js';
import { listPoints, toPointBatch, type PointBatch } from '../core/point-batch.js';
import { assignPointIds } from '../core/point-id.js';
import type { QueryBatch } from '../core/query-batch.js';
import { describePoint, describeQuery } from '../core/rules.js';

/*
 * What the addon says of a failure becomes the code that decides over the status of an answer.
 */

const POINTS = 2_000;
const SETTINGS = {
  dimension: 4,
  hnswM: 16,
  hnswEfConstruction: 100,
  warmMetrics: [],
  graphIdleSeconds: 0,
  segmentBytes: 1 << 20,
  maxFilterIndexBytes: 1 << 30,
};

let path = '';

beforeEach(() => {
  path = makeTemporaryFolder();
});

async function open(maxInflightBytes = 1 << 30): Promise<Engine> {
  return await Engine.open({ ...SETTINGS, path, maxInflightBytes });
}

function pointsOf(...values: number[]): PointBatch {
  const points = values.map((value) => ({
    vector: Float32Array.of(1, 2, 3, value),
    payload: { contentType: ContentType.Text, content: 'x' },
  }));
  const limits = {
    maxRequestBytes: 1 << 20,
    maxBatch: POINTS,
    maxContentBytes: 1,
    maxSearchWork: 1,
    maxInflightBytes: 1 << 20,
    maxFilterIndexBytes: 1 << 20,
  };
  const list = listPoints(points, limits.maxContentBytes);
  return toPointBatch(list, { dimension: 4, limits, defaultEf: 100 }, describePoint);
}

function queriesOf(count: number, limit = POINTS): QueryBatch {
  return {
    vectors: Float32Array.from({ length: 4 * count }, (_, index) => 4 - (index % 4)),
    similarities: new Uint8Array(count).fill(Similarity.Cosine),
    limits: new Uint32Array(count).fill(limit),
    efs: new Uint32Array(count).fill(POINTS),
  };
}

test('a value that is not finite is INVALID_ARGUMENT, and the item is named', async () => {
  const engine = await open();
  await expect(engine.insert(pointsOf(4, NaN), describePoint)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: 'vectors[1]: value 3 of the vector is NaN, expected a finite number',
  });
  await engine.close();
});

test('a single search, which fails at once, is INVALID_ARGUMENT likewise', async () => {
  const engine = await open();
  const query = { vector: Float32Array.of(1, NaN, 3, 4), similarity: Similarity.Cosine };
  const message = 'value 1 of the vector is NaN, expected a finite number';
  expect(() => engine.search({ ...query, limit: 1, ef: 1 })).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', message }),
  );
  await engine.close();
});

test('the query of a batch that is not finite is named', async () => {
  const engine = await open();
  const queries = queriesOf(3);
  queries.vectors[9] = Infinity;
  await expect(engine.searchBatch(queries, describeQuery, () => {})).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: 'queries[2]: value 1 of the vector is inf, expected a finite number',
  });
  await engine.close();
});

test('what no check before it has refused is INVALID_ARGUMENT', async () => {
  const engine = await open();
  const answer = engine.searchBatch(queriesOf(1, 0), describeQuery, () => {});
  await expect(answer).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  await engine.close();
});

test('what would wait beyond MAX_INFLIGHT_BYTES is OVERLOADED', async () => {
  const engine = await open(1_000);
  const inserts = Array.from({ length: 50 }, () => engine.insert(pointsOf(4), describePoint));
  const [first, ...others] = await Promise.allSettled(inserts);
  expect(first).toMatchObject({ status: 'fulfilled' });
  const refused = others.filter(({ status }) => status === 'rejected');
  expect(refused).not.toEqual([]);
  for (const { reason } of refused as PromiseRejectedResult[]) {
    expect(reason).toMatchObject({ code: 'OVERLOADED' });
  }
  await engine.close();
});

test('a search that nobody waits for is CANCELLED', async () => {
  const engine = await open();
  const values = Array.from({ length: POINTS }, (_, value) => value);
  await engine.insert(pointsOf(...values), describePoint);
  const answer = engine.searchBatch(queriesOf(POINTS), describeQuery, (leave) => leave());
  await expect(answer).rejects.toMatchObject({ code: 'CANCELLED' });
  await engine.close();
});

test('after the end everything is UNAVAILABLE', async () => {
  const engine = await open();
  await engine.close();
  const id = assignPointIds(1);
  const never = (): void => {};
  for (const ask of [
    () => engine.get(id),
    () => engine.delete(id),
    () => engine.insert(pointsOf(4), describePoint),
    () => engine.searchBatch(queriesOf(1), describeQuery, never),
  ]) {
    await expect(async () => await ask()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  }
});

test('a folder that is in use is INTERNAL, as all that no client can mend', async () => {
  const engine = await open();
  await expect(open()).rejects.toMatchObject({ code: 'INTERNAL' });
  await engine.close();
});
