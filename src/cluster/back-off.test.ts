import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { BackOff } from './back-off.js';

const FOREVER = new AbortController().signal;

test('all messages are sent while the stream acknowledges', async () => {
  const backOff = new BackOff();
  const endsAtMs = performance.now() + 3_500;
  let longestMs = 0;
  while (performance.now() < endsAtMs) {
    const begunAtMs = performance.now();
    expect(await backOff.turn(FOREVER)).toBe(true);
    longestMs = Math.max(longestMs, performance.now() - begunAtMs);
    backOff.heard();
    await sleep(50);
  }
  // Who is backed off waits for up to a second.
  expect(longestMs).toBeLessThan(500);
});

test('a stream that is silent for three seconds gets one message a second, until it is heard', async () => {
  const backOff = new BackOff();
  await backOff.turn(FOREVER);
  await sleep(3_050);
  let sent = 0;
  const waiting = Array.from({ length: 10 }, async () => {
    await backOff.turn(FOREVER);
    sent += 1;
  });
  await sleep(1_500);
  expect(sent).toBe(2);
  backOff.heard();
  await Promise.all(waiting);
  expect(sent).toBe(10);
});

test('who gives up sends nothing', async () => {
  const backOff = new BackOff();
  expect(await backOff.turn(AbortSignal.abort())).toBe(false);
});
