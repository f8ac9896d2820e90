import { expect, test } from 'vitest';
import type { ReplicaAnswer, ShardStatus, StreamStatus } from './model.js';
import { problemsOf } from './problems.js';

const WELL: ReplicaAnswer = {
  sequence: 9,
  lacks: 0,
  history: 'same',
  isFull: false,
  isClockOff: false,
  strays: 0,
};

const STREAM: StreamStatus = {
  name: 'vectord-0',
  created: '2026-11-27T00:00:00Z',
  isOfMap: true,
  servers: [
    { name: 'n0', state: 'leader', lag: 0 },
    { name: 'n1', state: 'current', lag: 0 },
  ],
  messages: 9,
  lostMessages: 0,
  bytes: 1_000,
  limitBytes: 4_000,
  firstSequence: 1,
  lastSequence: 9,
};

const REPORT = {
  version: '0.1.0',
  host: 'db',
  httpPort: 3_000,
  grpcPort: 50_051,
  points: 9,
  state: 'following',
  reason: '',
  needsPoints: false,
};

type Answers = readonly (Partial<ReplicaAnswer> | undefined)[];

function shardOf(answers: Answers, more: Partial<ShardStatus> = {}): ShardStatus {
  const nodes = answers.map((answer, replica) => ({
    node: `node-${replica}`,
    replica,
    answer: answer && { ...WELL, ...answer },
    report: answer && REPORT,
  }));
  return { shard: 0, stream: STREAM, nodes, ...more };
}

function problemsIn(shards: readonly ShardStatus[], versionFault?: string): string[] {
  const nats = { server: 'n0', version: '2.15.3', versionFault };
  return problemsOf({ cluster: 'vectord', dimension: 4, replicas: 3, nats, shards });
}

test('nothing is wrong with a cluster that is well', () => {
  expect(problemsIn([shardOf([{}, {}, {}])])).toEqual([]);
  // One that has just started remembers no position of before.
  expect(problemsIn([shardOf([{}, {}, { history: 'unknown' }])])).toEqual([]);
});

test.each([
  ['lacks messages', [{}, {}, { lacks: 3 }], 'node node-2 on db lacks 3 of the messages'],
  ['has lost the stream', [{}, {}, { sequence: 11 }], 'node node-2 on db is 2 messages ahead of'],
  ['has another history', [{}, {}, { history: 'other' }], 'node node-2 on db has another history'],
  ['has a full disk', [{}, { isFull: true }, {}], 'the disk of node node-1 on db is full'],
  [
    'has a wrong clock',
    [{}, {}, { isClockOff: true }],
    'the clock of node node-2 on db differs by more than',
  ],
  ['is silent', [undefined, {}, {}], 'node node-0 does not answer'],
] as const)('a node is named that %s', (_, answers, problem) => {
  expect(problemsIn([shardOf(answers)])).toEqual([expect.stringContaining(problem)]);
  const named = problem.replace(/node-\d/, '$& of shard 1');
  expect(problemsIn([shardOf([{}, {}, {}]), shardOf(answers, { shard: 1 })])).toEqual([
    expect.stringContaining(named),
  ]);
});

test.each([
  [
    'has stopped',
    { state: 'stopped', reason: 'message 7 cannot be read' },
    'has stopped, because message 7 cannot be read: it takes no message until it is started again',
  ],
  [
    'does not follow',
    { state: 'behind', reason: 'the stream was made again' },
    'lacks 3 of the messages of the stream and does not follow, because the stream was made again',
  ],
])('a node that %s tells why', (_, news, problem) => {
  const shard = shardOf([{}, {}, { lacks: 3 }]);
  const nodes = shard.nodes.map((node, at) =>
    at === 2 ? { ...node, report: { ...REPORT, ...news } } : node,
  );
  expect(problemsIn([{ ...shard, nodes }])).toEqual([`node node-2 on db ${problem}`]);
});

test('where most have lost their points, the status names the way out, and advises nothing else', () => {
  const shard = shardOf([{}, undefined, undefined]);
  const fetching = { ...REPORT, state: 'starting', reason: 'it waits', needsPoints: true };
  const nodes = shard.nodes.map((node) => (node.answer ? node : { ...node, report: fetching }));
  const problems = problemsIn([{ ...shard, nodes }]);
  expect(problems).toEqual([
    'node node-1 on db starts: it waits',
    'node node-2 on db starts: it waits',
    expect.stringMatching(/^2 of 3 nodes have lost their points.*Make a new cluster of the points/),
  ]);
  // One alone fetches those of the others.
  const one = shardOf([{}, {}, undefined]);
  const others = one.nodes.map((node) => (node.answer ? node : { ...node, report: fetching }));
  expect(problemsIn([{ ...one, nodes: others }])).toEqual(['node node-2 on db starts: it waits']);
});

test('a node is to be replaced only while enough others answer', () => {
  expect(problemsIn([shardOf([{}, {}, undefined])]).join()).toContain('CLUSTER_REPLACES');
  const problems = problemsIn([shardOf([{}, undefined, undefined])]);
  expect(problems.join()).not.toContain('CLUSTER_REPLACES');
  expect(problems.at(-1)).toMatch(/as each needs 2 others.*Make a new cluster of the points/);
});

test('a shard without a majority says what that means', () => {
  const answers = [{}, undefined, undefined];
  const problems = problemsIn([shardOf(answers)]);
  expect(problems).toHaveLength(3);
  expect(problems.at(-1)).toContain('only 1 of 3 nodes answer');
  const ofSecond = problemsIn([shardOf([{}, {}, {}]), shardOf(answers, { shard: 1 })]);
  expect(ofSecond).toHaveLength(3);
  expect(ofSecond.at(-1)).toContain('only 1 of 3 nodes of shard 1 answer');
});

test('a cluster whose nodes have not all started says how many are missing', () => {
  const waiting = shardOf([{}, {}], { stream: undefined });
  expect(problemsIn([waiting])).toEqual([
    expect.stringContaining('1 of 3 nodes have never started'),
  ]);
  // No stream is made before all are there.
  const full = shardOf([{}, {}, {}], { stream: undefined, shard: 1 });
  expect(problemsIn([waiting, full])).toEqual([
    expect.stringContaining('1 of 3 nodes of shard 0 have never started'),
  ]);
});

test.each([
  ['is gone', undefined, 'the stream of the writes is not there'],
  ['was made again', { isOfMap: false }, 'is not the one that the cluster was made with'],
  ['has a leader that has lost messages', { lostMessages: 3 }, 'server n0 has lost 3 messages of'],
  ['fills up', { bytes: 3_500 }, 'is filled to 88 % of CLUSTER_LOG_BYTES'],
  ['has a server away', { servers: [{ name: 'n1', state: 'away', lag: 7 }] }, 'n1 is away'],
  ['has a server behind', { servers: [{ name: 'n1', state: 'behind', lag: 7 }] }, 'behind by 7 op'],
  [
    'has a server that tells nothing',
    { servers: [{ name: 'n1', state: 'silent', lag: 7 }] },
    'n1 is silent',
  ],
] as const)('a stream is named that %s', (_, change, problem) => {
  const stream = change && { ...STREAM, ...change };
  expect(problemsIn([shardOf([{}, {}, {}], { stream })])).toEqual([
    expect.stringContaining(problem),
  ]);
});

test('a stream that is gone is named by its shard, and a server that several lack once', () => {
  const well = [{}, {}, {}];
  const gone = shardOf(well, { shard: 1, stream: undefined });
  expect(problemsIn([shardOf(well), gone])).toEqual([
    expect.stringContaining('the stream of the writes of shard 1 is not there'),
  ]);
  const stream = { ...STREAM, servers: [{ name: 'n1', state: 'away', lag: 7 }] } as const;
  expect(problemsIn([0, 1].map((shard) => shardOf(well, { shard, stream })))).toEqual([
    expect.stringContaining('server n1 is away'),
  ]);
});

test('an old server is named', () => {
  expect(problemsIn([shardOf([{}, {}, {}])], 'n0 is old')).toEqual(['n0 is old']);
});
