import { pino } from 'pino';
import { expect, test } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.js';
import { VectordError } from '../core/errors.js';
import { Requests } from './requests.js';

interface Log {
  readonly clock: ManualClock;
  readonly lines: string[];
  readonly requests: Requests;
  /** A request that takes so long and ends with this failure, a fault of the service, or without. */
  end(durationMs: number, failure?: Error): void;
}

function startLog(slowRequestMs: number): Log {
  const lines: string[] = [];
  const logger = pino({}, { write: (line) => lines.push(line) });
  const nameOf = (status: number): number => status;
  const clock = new ManualClock();
  const requests = new Requests({ protocol: 'http', logger, slowRequestMs, nameOf, clock });
  const operation = requests.addOperation({ method: 'POST' });
  return {
    clock,
    lines,
    requests,
    end(durationMs, failure) {
      const startedAtMs = requests.begin(clock.nowMs() - durationMs);
      const ended = { operation, startedAtMs, requestId: 'x', asked: undefined, bytes: 0, failure };
      requests.end(ended, failure === undefined ? 200 : 503, failure !== undefined);
    },
  };
}

test('of requests that meet an overload ten lines a second say so, and how many had none', async () => {
  const { clock, lines, requests, end } = startLog(0);
  const overload = new VectordError('OVERLOADED', 'too much');
  for (let request = 0; request < 1_000; request += 1) end(0, overload);
  expect(lines).toHaveLength(10);
  await clock.advance(1_000);
  end(0, overload);
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ reason: 'too much', leftOut: 990 });
  // Defects have lines of their own.
  for (let request = 0; request < 20; request += 1) end(0, new Error('a defect'));
  expect(lines.filter((line) => line.includes('a defect'))).toHaveLength(10);
  await clock.advance(1_000);
  end(0, new Error('a defect'));
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ msg: 'request failed', leftOut: 10 });
  expect(requests.operations[0]?.statuses.get(503)).toBe(1_022);
});

test('of slow requests ten lines a second say so, besides those of failures', async () => {
  const { clock, lines, end } = startLog(5);
  const overload = new VectordError('OVERLOADED', 'too much');
  for (let request = 0; request < 1_000; request += 1) end(6);
  expect(lines).toHaveLength(10);
  end(0, overload);
  expect(lines).toHaveLength(11);
  await clock.advance(1_000);
  end(5);
  end(6);
  expect(lines).toHaveLength(12);
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ msg: 'slow request', leftOut: 990 });
  // A slow one that fails is told of as a failure.
  end(6, new Error('a defect'));
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ msg: 'request failed' });
});
