import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ConnectionStats } from './connection-stats.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

test('of connections that are closed ten lines a second say so, and all are counted', () => {
  const lines: string[] = [];
  const stats = new ConnectionStats('grpc', pino({}, { write: (line) => lines.push(line) }));
  for (let count = 0; count < 1_000; count += 1) stats.noteClosed('resets', '192.0.2.1');
  expect(lines).toHaveLength(10);
  vi.advanceTimersByTime(1_000);
  stats.noteClosed('pieces', '192.0.2.2');
  expect(lines).toHaveLength(11);
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
    interface: 'grpc',
    reason: 'pieces',
    address: '192.0.2.2',
    leftOut: 990,
  });
  stats.noteClosed('pieces', '192.0.2.2');
  expect(JSON.parse(lines.at(-1) ?? '')).not.toHaveProperty('leftOut');
  expect([...stats.closed]).toEqual([
    ['resets', 1_000],
    ['pieces', 2],
  ]);
});
