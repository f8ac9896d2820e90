import { pino } from 'pino';
import { expect, test } from 'vitest';
import { MemoryBudget } from '../admission/memory-budget.js';
import { Requests } from '../observe/requests.js';
import { CallLifecycle } from './call-lifecycle.js';

/** A call of a stream that is within a message, what has been done to it, and a look at it later. */
function streamOf(countsAnswers: boolean) {
  const logger = pino({ level: 'silent' });
  const requests = new Requests({ protocol: 'grpc', logger, slowRequestMs: 0, nameOf: String });
  const inflight = new MemoryBudget(1_000);
  const allowance = { maxBytes: 1_000, settings: '', freeBytes: 0, inflight, countsAnswers };
  const operation = requests.addOperation({ method: 'Stream' }, true);
  const method = { access: 'readwrite', allowance, operation } as const;
  const call = new CallLifecycle(method, undefined, requests, none, undefined, none);
  const done: string[] = [];
  const fail = (): void => void done.push('failed');
  const open = { awaitsMore: true, unreadBytes: 0, fail, cut: () => void done.push('cut') };
  call.watch(open);
  const lookAfter = (ms: number): void => call.check(performance.now() + ms);
  return { call, open, inflight, done, lookAfter };
}

test.each([true, false])(
  'a stream is cut when its answers, which take memory: %s, are not read for 5 minutes',
  (countsAnswers) => {
    const { call, done, lookAfter } = streamOf(countsAnswers);
    call.sending(10);
    lookAfter(299_000);
    expect(done).toEqual([]);
    lookAfter(301_000);
    expect(done).toEqual(['cut']);
  },
);

test('a message has its time anew once an answer before it was read', () => {
  const { call, done, lookAfter } = streamOf(false);
  call.sending(10);
  lookAfter(20_000);
  call.sent(10);
  lookAfter(20_250);
  lookAfter(30_000);
  expect(done).toEqual([]);
  lookAfter(31_000);
  expect(done).toEqual(['failed']);
});

test('what waits unread takes memory, once, until it has been read and handled', () => {
  const { call, open, inflight, done, lookAfter } = streamOf(false);
  const look = (unreadBytes: number): void => {
    open.unreadBytes = unreadBytes;
    lookAfter(0);
  };
  call.received(100);
  look(600);
  look(600);
  expect(inflight.usedBytes).toBe(700);
  call.received(500);
  expect(inflight.usedBytes).toBe(700);
  look(200);
  expect(inflight.usedBytes).toBe(800);
  call.handled(600);
  look(0);
  expect(inflight.usedBytes).toBe(0);
  look(300);
  expect(done).toEqual([]);
  call.ended();
  expect(inflight.usedBytes).toBe(0);
});

test('a stream is ended when no memory is left for what waits unread of it', () => {
  const { call, open, inflight, done, lookAfter } = streamOf(false);
  call.received(100);
  open.unreadBytes = 901;
  lookAfter(0);
  expect(done).toEqual(['failed']);
  expect(inflight.usedBytes).toBe(100);
});

function none(): undefined {
  return undefined;
}
