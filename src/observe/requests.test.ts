import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { VectordError } from '../errors.js';
import { Requests } from './requests.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

test('of requests that meet an overload ten lines a second say so, and how many had none', () => {
  const lines: string[] = [];
  const logger = pino({}, { write: (line) => lines.push(line) });
  const requests = new Requests({
    protocol: 'http',
    logger,
    slowRequestMs: 0,
    nameOf: (status) => status,
  });
  const operation = requests.addOperation({ method: 'POST' });
  const fail = (failure: Error): void => {
    const startedAtMs = requests.begin();
    const ended = { operation, startedAtMs, requestId: 'x', asked: undefined, bytes: 0, failure };
    requests.end(ended, 503, true);
  };
  const overload = new VectordError('OVERLOADED', 'too much');
  for (let request = 0; request < 1_000; request += 1) fail(overload);
  expect(lines).toHaveLength(10);
  vi.advanceTimersByTime(1_000);
  fail(overload);
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ reason: 'too much', leftOut: 990 });
  // A defect is always told of.
  for (let request = 0; request < 20; request += 1) fail(new Error('a defect'));
  expect(lines.filter((line) => line.includes('a defect'))).toHaveLength(20);
  expect(operation.statuses.get(503)).toBe(1_021);
});
