import { setImmediate } from 'node:timers/promises';
import { queryObjects } from 'node:v8';
import { describe, expect, test } from 'vitest';
import type { CallContext } from 'nice-grpc';
import { ManualClock } from '../../test/support/manual-clock.js';
import { REAL_CLOCK } from '../core/clock.js';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../gen/grpc/health/v1/health.js';
import { Health, WATCH_INTERVAL_MS } from './health.js';

const WATCHES = 500;

describe.skipIf(queryObjects === undefined)('a watch that ended', () => {
  test('leaves no abort signal behind while the service runs', async () => {
    const health = new Health({ faults: () => [] }, REAL_CLOCK);
    await watchAndLeave(health);
    const before = signals();
    for (let watch = 0; watch < WATCHES; watch += 1) {
      await watchAndLeave(health);
    }
    expect(signals() - before).toBeLessThan(WATCHES / 10);
  });
});

test('a watch tells of a fault within a second, and of its end', async () => {
  const clock = new ManualClock();
  const faults: string[] = [];
  const health = new Health({ faults: () => faults }, clock);
  const { signal } = new AbortController();
  const watch = health.watch({ service: '' }, { signal } as CallContext);
  const told: ServingStatus[] = [];
  const watching = (async () => {
    for await (const { status } of watch) told.push(status);
  })();
  for (const fault of [[], ['a failed write'], ['a failed write'], []]) {
    faults.splice(0, 1, ...fault);
    await clock.advance(WATCH_INTERVAL_MS);
    // Until the watch waits again: a look that comes before is none.
    await setImmediate();
  }
  health.close();
  await watching;
  const { SERVING, NOT_SERVING } = ServingStatus;
  expect(told).toEqual([SERVING, NOT_SERVING, SERVING, NOT_SERVING]);
});

test('a watch hears that the service stops while it is told that it serves', async () => {
  const health = new Health({ faults: () => [] }, new ManualClock());
  const { signal } = new AbortController();
  const watch = health.watch({ service: '' }, { signal } as CallContext);
  expect((await watch.next()).value).toEqual({ status: ServingStatus.SERVING });
  health.close();
  expect((await watch.next()).value).toEqual({ status: ServingStatus.NOT_SERVING });
  expect((await watch.next()).done).toBe(true);
});

/** Watches until the first answer is there, then cancels the call. */
async function watchAndLeave(health: Health): Promise<void> {
  const call = new AbortController();
  const { signal } = call;
  const watch = health.watch({ service: '' }, { signal } as CallContext);
  expect((await watch.next()).done).toBe(false);
  const next = watch.next();
  call.abort();
  expect((await next).done).toBe(true);
}

/** The abort signals that are reachable. */
function signals(): number {
  return queryObjects(AbortSignal, { format: 'count' });
}
