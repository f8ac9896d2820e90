import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { RequestScheduler } from './request-scheduler.js';

/** Keeps the loop from anything else, as requests do that are answered at once. */
function work(forMs: number): void {
  const endsAtMs = performance.now() + forMs;
  while (performance.now() < endsAtMs);
}

/** Has a loop that has worked for a while, and is at it still. */
function busyPace(): RequestScheduler {
  const pace = new RequestScheduler();
  for (let request = 0; request < 20; request += 1) expect(pace.turn('a')).toBeUndefined();
  work(50);
  return pace;
}

test('requests begin at once while the loop has time for them', async () => {
  const pace = new RequestScheduler();
  for (let request = 0; request < 100; request += 1) {
    expect(pace.turn('a')).toBeUndefined();
    await setImmediate();
  }
});

test('once the loop has worked for a while the others wait, the shortest line first', async () => {
  const pace = busyPace();
  const begun: string[] = [];
  const names = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'c1'];
  const waiting = names.map(async (name) => {
    await pace.turn(name[0]);
    begun.push(name);
  });
  expect(begun).toEqual([]);
  await Promise.all(waiting);
  expect(begun.slice(0, 2).toSorted()).toEqual(['b1', 'c1']);
  expect(begun.slice(2)).toEqual(['a1', 'a2', 'a3', 'a4', 'a5']);
});

test('a long line has its turns though short ones keep coming', async () => {
  const pace = busyPace();
  const begun: string[] = [];
  const long = Array.from({ length: 5 }, async () => {
    await pace.turn('long');
    begun.push('long');
  });
  for (let request = 0; request < 40; request += 1) {
    await Promise.all([pace.turn(`b${request}`), pace.turn(`c${request}`)]);
    begun.push('short');
  }
  await Promise.all(long);
  expect(begun.lastIndexOf('long')).toBeLessThan(begun.lastIndexOf('short'));
});

test('who comes while others wait does not pass them', async () => {
  const pace = busyPace();
  const first = pace.turn('a');
  const second = pace.turn('b');
  expect([first, second]).toEqual([expect.any(Promise), expect.any(Promise)]);
  await Promise.all([first, second]);
  await setImmediate();
  await setImmediate();
  expect(pace.turn('c')).toBeUndefined();
});

test('what nobody waits for any more takes no turn from others', async () => {
  const pace = busyPace();
  const begun: string[] = [];
  const gone = Array.from({ length: 100 }, async () => {
    await pace.turn('a', () => false);
    begun.push('gone');
  });
  const wanted = ['first', 'second'].map(async (name) => {
    await pace.turn(name);
    begun.push(name);
  });
  await setImmediate();
  await setImmediate();
  await setImmediate();
  expect(begun).toHaveLength(102);
  await Promise.all([...gone, ...wanted]);
});
