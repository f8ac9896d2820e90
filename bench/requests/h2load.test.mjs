import { expect, test } from 'vitest';
import { countAnswers, readLatencies } from './h2load.mjs';

const expected = { answerBytes: 425, connections: 8 };

function report({ failed = 0, good = 1_992, redirected = 0, bytes = 846_600 } = {}) {
  return `finished in 1.00s, 1992.00 req/s, 890.34KB/s
requests: 1992 total, 2000 started, 1992 done, 1992 succeeded, ${failed} failed, 0 errored, 0 timeout
status codes: ${good} 2xx, ${redirected} 3xx, 0 4xx, 0 5xx
traffic: 890.34KB (911704) total, 8.52KB (8728) headers (space savings 96.29%), 826.76KB (${bytes}) data
`;
}

test('answers are counted', () => {
  expect(countAnswers(report(), expected)).toBe(1_992);
});

test('an answer on each connection may be cut off by the end', () => {
  expect(countAnswers(report({ good: 1_993, bytes: 850_000 }), expected)).toBe(1_992);
});

test.each([
  ['a request that failed', { failed: 1 }],
  ['an answer with another status', { redirected: 1 }],
  ['an answer without a body, as gRPC sends an error', { bytes: 846_599 }],
  ['answers that are too long', { bytes: 850_001 }],
])('%s ends the run', (_, fault) => {
  expect(() => countAnswers(report(fault), expected)).toThrow('not each answer is a good one');
});

test('a report of another form ends the run', () => {
  expect(() => countAnswers('done', expected)).toThrow('no /^requests');
});

test('latencies are the third column of the log', () => {
  const log = '1795573477234931\t200\t562\n1795573477235377\t200\t1325\n';
  expect(readLatencies(log)).toEqual([562, 1_325]);
});
