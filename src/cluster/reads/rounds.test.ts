import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { deferred, type Deferred } from '../../core/deferred.js';
import { Rounds } from './rounds.js';

const PAUSE_MS = 50;

function open() {
  const asked: { readonly atMs: number; readonly answer: Deferred<string> }[] = [];
  const rounds = new Rounds(async () => {
    const answer = deferred<string>();
    asked.push({ atMs: performance.now(), answer });
    return await answer.promise;
  }, PAUSE_MS);
  return { asked, rounds };
}

test('who comes after a question was asked gets the answer to a later one', async () => {
  const { asked, rounds } = open();
  const first = rounds.join();
  await expect.poll(() => asked.length).toBe(1);
  const others = [rounds.join(), rounds.join()];
  asked[0]?.answer.resolve('early');
  expect(await first).toBe('early');
  await expect.poll(() => asked.length).toBe(2);
  asked[1]?.answer.resolve('late');
  expect(await Promise.all(others)).toEqual(['late', 'late']);
});

test('questions are asked with a pause between them, and not where nobody wants an answer', async () => {
  const { asked, rounds } = open();
  void rounds.join();
  void rounds.join();
  await expect.poll(() => asked.length).toBe(1);
  void rounds.join();
  await expect.poll(() => asked.length).toBe(2);
  const [first, second] = asked.map(({ atMs }) => atMs);
  // A timer may be early by less than this.
  expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(PAUSE_MS - 2);
  await sleep(2 * PAUSE_MS);
  expect(asked.length).toBe(2);
});

test('a question that fails is asked again by who comes later', async () => {
  const { asked, rounds } = open();
  const first = rounds.join();
  await expect.poll(() => asked.length).toBe(1);
  asked[0]?.answer.reject(new Error('no answer'));
  await expect(first).rejects.toThrow('no answer');
  const second = rounds.join();
  await expect.poll(() => asked.length).toBe(2);
  asked[1]?.answer.resolve('now');
  expect(await second).toBe('now');
});
