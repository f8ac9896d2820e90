import { pino } from 'pino';
import { expect, test } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.js';
import { ConnectionStats } from './connection-stats.js';

test('of connections that are closed ten lines a second say so, and all are counted', async () => {
  const lines: string[] = [];
  const clock = new ManualClock();
  const logger = pino({}, { write: (line) => lines.push(line) });
  const stats = new ConnectionStats('grpc', logger, clock);
  for (let count = 0; count < 1_000; count += 1) stats.noteClosed('resets', '192.0.2.1');
  expect(lines).toHaveLength(10);
  await clock.advance(999);
  stats.noteClosed('resets', '192.0.2.1');
  expect(lines).toHaveLength(10);
  await clock.advance(1);
  stats.noteClosed('tiny_chunks', '192.0.2.2');
  expect(lines).toHaveLength(11);
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
    interface: 'grpc',
    reason: 'tiny_chunks',
    address: '192.0.2.2',
    leftOut: 991,
  });
  stats.noteClosed('tiny_chunks', '192.0.2.2');
  expect(JSON.parse(lines.at(-1) ?? '')).not.toHaveProperty('leftOut');
  expect([...stats.closed]).toEqual([
    ['resets', 1_001],
    ['tiny_chunks', 2],
  ]);
});
