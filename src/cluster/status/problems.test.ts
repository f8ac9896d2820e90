import { expect, test } from 'vitest';
import type { ClusterStatus, ReplicaAnswer, StreamStatus } from './model.js';
import { problemsOf } from './problems.js';

const WELL: ReplicaAnswer = { sequence: 9, lacks: 0, history: 'same', isFull: false };

const STREAM: StreamStatus = {
  name: 'vectord-0',
  created: '2026-11-27T00:00:00Z',
  isOfMap: true,
  servers: [
    { name: 'n0', state: 'leader' },
    { name: 'n1', state: 'current' },
  ],
  messages: 9,
  bytes: 1_000,
  limitBytes: 4_000,
  firstSequence: 1,
  lastSequence: 9,
};

function statusOf(
  answers: readonly (Partial<ReplicaAnswer> | undefined)[],
  more: Partial<ClusterStatus> = {},
): ClusterStatus {
  return {
    cluster: 'vectord',
    dimension: 4,
    replicas: 3,
    nats: { server: 'n0', version: '2.15.3', versionFault: undefined },
    stream: STREAM,
    nodes: answers.map((answer, replica) => ({
      node: `node-${replica}`,
      replica,
      answer: answer && { ...WELL, ...answer },
    })),
    ...more,
  };
}

test('nothing is wrong with a cluster that is well', () => {
  expect(problemsOf(statusOf([{}, {}, {}]))).toEqual([]);
  // One that has just started remembers no position of before.
  expect(problemsOf(statusOf([{}, {}, { history: 'unknown' }]))).toEqual([]);
});

test.each([
  ['lacks messages', [{}, {}, { lacks: 3 }], 'node node-2 lacks 3 of the messages'],
  ['has lost the stream', [{}, {}, { sequence: 11 }], 'node node-2 is 2 messages ahead of'],
  ['has another history', [{}, {}, { history: 'other' }], 'node node-2 has another history'],
  ['has a full disk', [{}, { isFull: true }, {}], 'the disk of node node-1 is full'],
  ['is silent', [undefined, {}, {}], 'node node-0 does not answer'],
] as const)('a node is named that %s', (_, answers, problem) => {
  expect(problemsOf(statusOf(answers))).toEqual([expect.stringContaining(problem)]);
});

test('a cluster without a majority says what that means', () => {
  const problems = problemsOf(statusOf([{}, undefined, undefined]));
  expect(problems).toHaveLength(3);
  expect(problems.at(-1)).toContain('only 1 of 3 nodes answer');
});

test('a cluster whose nodes have not all started says how many are missing', () => {
  expect(problemsOf(statusOf([{}, {}], { stream: undefined }))).toEqual([
    expect.stringContaining('1 of 3 nodes have never started'),
  ]);
});

test.each([
  ['is gone', undefined, 'the stream of the writes is not there'],
  ['was made again', { isOfMap: false }, 'is not the one that the cluster was made with'],
  ['fills up', { bytes: 3_500 }, 'is filled to 88 % of CLUSTER_LOG_BYTES'],
  ['has a server away', { servers: [{ name: 'n1', state: 'away' }] }, 'server n1 is away'],
  ['has a server behind', { servers: [{ name: 'n1', state: 'behind' }] }, 'server n1 is behind'],
] as const)('a stream is named that %s', (_, change, problem) => {
  const stream = change && { ...STREAM, ...change };
  expect(problemsOf(statusOf([{}, {}, {}], { stream }))).toEqual([
    expect.stringContaining(problem),
  ]);
});

test('an old server is named', () => {
  const nats = { server: 'n0', version: '2.10.0', versionFault: 'n0 is old' };
  expect(problemsOf(statusOf([{}, {}, {}], { nats }))).toEqual(['n0 is old']);
});
