import { queryObjects } from 'node:v8';
import { describe, expect, test } from 'vitest';
import type { CallContext } from 'nice-grpc';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../gen/grpc/health/v1/health.js';
import { Health } from './health.js';

const WATCHES = 500;

test('a watch is told of a status once, until it changes', async () => {
  let looks = 0;
  const faults = (): string[] => {
    looks += 1;
    return looks < 3 ? [] : ['damage'];
  };
  const call = new AbortController();
  const { signal } = call;
  const told: ServingStatus[] = [];
  const watch = new Health({ faults }).watch({ service: '' }, { signal } as CallContext);
  for await (const { status } of watch) {
    told.push(status);
    if (status !== ServingStatus.SERVING) call.abort();
  }
  expect(told).toEqual([ServingStatus.SERVING, ServingStatus.NOT_SERVING]);
});

describe.skipIf(queryObjects === undefined)('a watch that ended', () => {
  test('leaves no abort signal behind while the service runs', async () => {
    const health = new Health({ faults: () => [] });
    await watchAndLeave(health);
    const before = signals();
    for (let watch = 0; watch < WATCHES; watch += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await watchAndLeave(health);
    }
    expect(signals() - before).toBeLessThan(WATCHES / 10);
  });
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
