import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/node.js';
import { takeSample } from '../../src/console/page/sample.js';
import { startServer } from '../support/server.js';

test('a sample of the map is drawn from all points, in answers as the service allows them', async () => {
  const env = { MAX_REQUEST_BYTES: '16384', MAX_BATCH: '100' };
  const server = await startServer({ dimension: 2, env });
  const client = connect(server.http, { key: server.keys.readwrite });
  onTestFinished(() => client.close());
  const points = Array.from({ length: 1_000 }, (_, at) => ({
    vector: [at, -at],
    metadata: { at, isEven: at % 2 === 0 },
  }));
  await client.bulk(points, { batchBytes: 8_192 });

  const take = async (order: 'newest' | 'oldest', filter?: { isEven: boolean }) =>
    await takeSample(client, 300, { order, filter }, new AbortController().signal);
  const sample = await take('newest');
  expect(sample).toMatchObject({ listed: 1_000, total: 1_000 });
  const drawn = sample.points.map(({ metadata }) => metadata?.['at'] as number);
  expect(new Set(drawn)).toHaveLength(300);
  expect(sample.points.map(({ vector }) => Array.from(vector))).toEqual(
    drawn.map((at) => [at, -at]),
  );
  // Of the first or of the last 300 alone, the mean would be 150 or 850.
  const mean = drawn.reduce((sum, at) => sum + at, 0) / drawn.length;
  expect(mean).toBeGreaterThan(400);
  expect(mean).toBeLessThan(600);

  const even = await take('oldest', { isEven: true });
  expect(even).toMatchObject({ listed: 500, total: 500 });
  expect(even.points).toHaveLength(300);
  expect(even.points.every(({ metadata }) => metadata?.['isEven'] === true)).toBe(true);
});
