import { beforeAll, expect, test } from 'vitest';
import type { BenchRow } from '../../src/measure/bench.js';
import { id, open } from '../client/open.js';
import { Random } from '../support/random.js';
import { startServer, type TestServer } from '../support/server.js';
import { begin, endOf, fileOf, run } from './command.js';

const POINTS = 3_000;
const DIMENSION = 16;
const QUICK = ['--ef', '10,400', '--seconds', '0.1', '--queries', '40'];

let server: TestServer;
const random = new Random(26);

beforeAll(async () => {
  server = await startServer({ dimension: DIMENSION });
  const points = Array.from({ length: POINTS }, (_, at) => {
    return { id: id(at + 1), vector: random.vector(DIMENSION), metadata: { half: at % 2 } };
  });
  await open(server, 'grpc').bulk(points);
});

function rowsOf(stdout: string): BenchRow[] {
  return (JSON.parse(stdout) as { rows: BenchRow[] }).rows;
}

test('vectors of a file are searched for, and a table tells recall and speed', async () => {
  const lines = Array.from({ length: 20 }, () => JSON.stringify({ v: random.vector(DIMENSION) }));
  const path = fileOf('queries.jsonl', lines.join('\n'));
  const { code, stdout } = await run(server, 'bench', path, '--vector', 'v', ...QUICK);
  expect(stdout).toContain(`3,000 points of ${DIMENSION} values`);
  expect(stdout).toContain('Cosine, 10 neighbours, 20 queries, 4 at a time');
  expect(stdout).toMatch(/^ +ef +recall@10 +p50 ms +p95 ms +p99 ms +searches\/s +searches$/m);
  expect(stdout).toMatch(/^exact +1\.0000( +[\d,.]+){5}$/m);
  expect(stdout).toMatch(/^ +400 +(0\.99\d\d|1\.0000)( +[\d,.]+){5}$/m);
  expect(code).toBe(0);
});

test('without a file stored points are searched for; a greater ef finds more, and nothing is stored', async () => {
  const similarity = ['--similarity', 'euclidean', '--filter', '{"half": 1}', '--json'];
  const { code, stdout } = await run(server, 'bench', ...similarity, ...QUICK);
  const [exact, narrow, wide] = rowsOf(stdout);
  expect([exact?.ef, narrow?.ef, wide?.ef]).toEqual(['exact', 10, 400]);
  expect([exact?.recall, exact?.searches]).toEqual([1, 40]);
  expect(wide?.recall).toBeGreaterThanOrEqual(narrow?.recall ?? 1);
  expect(wide?.recall).toBeGreaterThan(0.95);
  for (const row of [exact, narrow, wide]) {
    expect(row?.p50Ms).toBeGreaterThan(0);
    expect(row?.p99Ms).toBeGreaterThanOrEqual(row?.p50Ms ?? Infinity);
  }
  expect(await open(server, 'http').count()).toBe(POINTS);
  expect(code).toBe(0);
});

test('an interruption prints what was measured', async () => {
  // It would take an hour.
  const command = begin(server, ['bench', '--ef', '10', '--seconds', '3600', '--queries', '5']);
  await command.until(() => command.stderr.includes('ef 10: ['));
  await command.stop('SIGINT');
  const { code, stdout } = await endOf(command);
  expect(stdout).toMatch(/^exact +1\.0000/m);
  expect(stdout).not.toMatch(/^ +10 /m);
  expect(code).toBe(130);
});

test.each([
  [['--ef', '0'], 'Expected whole numbers between commas'],
  [['--similarity', 'cosin'], 'Manhattan, Hamming.\n(Did you mean Cosine?)\n'],
  [['--format', 'xml'], 'is invalid. Allowed choices are npy,'],
  [['--seconds', '0'], 'Expected a number of seconds'],
])('%j is refused as bad usage', async (args, message) => {
  const { code, stderr } = await run(server, 'bench', ...args);
  expect(stderr).toContain(message);
  expect(code).toBe(2);
});

test.each([
  ['{"vector": [1, 2]}', 'the vector has 2 values, expected 16'],
  [`{"vector": [1e39${',0'.repeat(15)}]}`, 'vector[0] is not finite in single precision'],
  ['{"vector": "none"}', 'the vector is neither a list, such as [0.1, 0.2], nor base64'],
  ['{}', 'has no vector'],
])('the query %s is refused with its row', async (line, reason) => {
  const path = fileOf('queries.jsonl', `{"vector": [1${',0'.repeat(15)}]}\n${line}\n`);
  const { code, stderr } = await run(server, 'bench', path);
  expect(stderr).toContain(`vectord bench failed: row 2: ${reason}`);
  expect(code).toBe(1);
});
