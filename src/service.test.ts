import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { makeTemporaryFolder } from '../test/support/server.js';
import { ContentType, type NewPoint } from './model.js';
import { Engine } from './native.js';
import { POINT_ID_BYTES } from './point-id.js';
import { Service } from './service.js';

const LIMITS = {
  maxRequestBytes: 1_000_000,
  maxBatch: 10_000,
  maxContentBytes: 100,
  maxSearchWork: 1_000,
  maxInflightBytes: 1_000_000,
};
const POINT: NewPoint = {
  vector: Float32Array.of(1, 2),
  payload: { contentType: ContentType.Text, content: 'x' },
};

let engine: Engine;
let service: Service;

beforeEach(() => {
  engine = Engine.open({
    path: makeTemporaryFolder(),
    dimension: 2,
    hnswM: 16,
    hnswEfConstruction: 100,
    warmMetrics: [],
    maxInflightBytes: LIMITS.maxInflightBytes,
  });
  service = new Service(engine, { limits: LIMITS, defaultEf: 100 });
});

afterEach(async () => {
  await engine.close();
});

test('between reading a large batch and handing it over others have their turn', async () => {
  const insert = vi.spyOn(engine, 'insert');
  let insertsBefore: number | undefined;
  setImmediate(() => (insertsBefore = insert.mock.calls.length));
  const ids = await service.insertBatch(Array.from({ length: 2_000 }, () => POINT));
  expect(ids.length).toBe(2_000 * POINT_ID_BYTES);
  expect(insertsBefore).toBe(0);
  expect(insert).toHaveBeenCalledTimes(1);
});
