import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect, type Point } from '../../../src/client/node.js';
import { HAS_NO_NATS, readinessOf, type TestCluster } from '../../support/cluster.js';
import { Random } from '../../support/random.js';
import type { TestServer } from '../../support/server.js';
import { findPorcupine } from '../../support/tools.mjs';
import { check } from '../history/check.js';
import { Workload } from '../history/workload.js';
import type { ClusterStatus } from '../../../src/cluster/status/model.js';
import type { Fault } from './scene.js';
import { Standstill } from './standstill.js';

/** One of some kinds, drawn anew each time, by default; a long run sets more, and makes longer pauses. */
const ASKED_ROUNDS = process.env['VECTORD_CLUSTER_ROUNDS'];
const ROUNDS = Number(ASKED_ROUNDS ?? 1);
const SEED = Number(process.env['VECTORD_SEED'] ?? Date.now());
/** Each has three nodes. */
const SHARDS = Number(process.env['VECTORD_CLUSTER_SHARDS'] ?? 1);
const PAUSE_MS = ROUNDS > 1 ? 20_000 : 5_000;

/** What is waited for comes within a part of it; a busy machine takes longer. */
const PATIENCE = { timeout: 90_000, interval: 200 };
const ROUND_TIMEOUT_MS = 300_000;
/** An operation of the workload is waited for until its node has to have an answer. */
const DEADLINE_MS = 25_000;
/** So much of the log of each node is shown where a round fails. */
const LOG_END = 4_000;

/** Why such tests are skipped, if they are. */
export const LACKS_TOOLS = HAS_NO_NATS || findPorcupine() === undefined;

/**
 * Declares the tests of a cluster under load: one for each kind of fault, and one of what is there
 * afterwards.
 *
 * @param errors what nodes may say in lines of level error, as the faults bring it about
 */
export function testUnderLoad(
  faults: Readonly<Record<string, Fault>>,
  start: (shards: number) => Promise<TestCluster>,
  errors: readonly string[] = [],
): void {
  console.log(`VECTORD_SEED=${SEED}`);
  const kinds = ASKED_ROUNDS === undefined ? some(Object.entries(faults)) : Object.entries(faults);
  const random = new Random(SEED);
  const workloads = new Map<string, Workload>();
  const table: Record<string, object> = {};
  const seen = new Set<TestServer>();
  let cluster: TestCluster;

  beforeAll(async () => {
    cluster = await start(SHARDS);
  }, PATIENCE.timeout);
  afterAll(async () => {
    console.table(table);
    await cluster.end();
  }, PATIENCE.timeout);

  test.each(kinds)(
    `%s, ${ROUNDS} times: all is ready again, and every node takes writes`,
    { timeout: ROUNDS * ROUND_TIMEOUT_MS },
    async (name, fault) => {
      const workload = Workload.start(cluster.nodes, { seed: SEED, deadlineMs: DEADLINE_MS });
      workloads.set(name, workload);
      await writesThroughAll(workload);
      const gap = new Standstill(() => workload.written.reduce((sum, count) => sum + count));
      const recoveries: number[] = [];
      try {
        for (let round = 0; round < ROUNDS; round += 1) {
          noteNodes();
          await fault({ cluster, random, pauseMs: PAUSE_MS });
          noteNodes();
          const undoneAtMs = performance.now();
          await cluster.servers.ready(PATIENCE.timeout);
          await allReady();
          await writesThroughAll(workload);
          recoveries.push(performance.now() - undoneAtMs);
        }
        expect(recoveries).toHaveLength(ROUNDS);
      } catch (error) {
        for (const node of cluster.nodes) console.log(node.log().slice(-LOG_END));
        throw error;
      } finally {
        gap.end();
        await workload.rest();
        table[name] = { rounds: recoveries.length, ...summaryOf(workload, gap, recoveries) };
      }
    },
  );

  test(
    'afterwards every history is linearizable, and all nodes hold equal points and equal logs',
    { timeout: ROUNDS * ROUND_TIMEOUT_MS },
    async () => {
      for (const [name, workload] of workloads) {
        const { path, unread } = await workload.stop();
        expect.soft({ name, unread, ...(await check(path)) }).toMatchObject({
          unread: 0,
          isLinearizable: true,
        });
      }
      const [first, ...others] = await Promise.all(cluster.nodes.map(pointsOf));
      expect(first).not.toEqual([]);
      for (const other of others) expect(other).toEqual(first);
      const { stdout } = await cluster.status(['--json']);
      const { shards } = JSON.parse(stdout) as ClusterStatus;
      const answers = shards.flatMap(({ nodes }) => nodes.map(({ answer }) => answer));
      expect(answers).toEqual(
        cluster.nodes.map(() => expect.objectContaining({ lacks: 0, history: 'same' }) as unknown),
      );
      const found = [...seen].flatMap(errorsOf);
      const unexpected = found.filter((line) => !errors.some((error) => line.includes(error)));
      expect(unexpected).toEqual([]);
    },
  );

  function noteNodes(): void {
    for (const node of cluster.nodes) seen.add(node);
  }

  async function allReady(): Promise<void> {
    const states = async () => await Promise.all(cluster.nodes.map(readinessOf));
    await expect.poll(states, PATIENCE).toEqual(cluster.nodes.map(() => 'ready'));
  }
}

/** A third of these, in their order. */
function some<Kind>(kinds: readonly Kind[]): Kind[] {
  const random = new Random(SEED);
  const left = [...kinds];
  while (left.length > kinds.length / 3) left.splice(random.below(left.length), 1);
  return left;
}

/** Waits for further acknowledged writes of every client. */
async function writesThroughAll(workload: Workload): Promise<void> {
  const before = workload.written;
  const waiting = () => workload.written.filter((count, at) => count === before[at]).length;
  await expect.poll(waiting, PATIENCE).toBe(0);
}

async function pointsOf({ http, keys }: TestServer): Promise<Point[]> {
  const client = connect(http, { key: keys.readwrite });
  const include = ['vector', 'content', 'metadata'] as const;
  const points: Point[] = [];
  for await (const point of client.scroll({ include })) points.push(point);
  client.close();
  return points;
}

/** The lines of a log of what must not happen, whatever the fault. */
function errorsOf(node: TestServer): string[] {
  return node
    .log()
    .split('\n')
    .filter((line) => /"level":"(?:error|fatal)"|^\S*(?:Error|Warning)\b/.test(line));
}

function summaryOf(workload: Workload, gap: Standstill, recoveries: readonly number[]): object {
  const { upsert, insert, delete: deleted } = workload.counts;
  const sum = (outcome: 'ok' | 'failed' | 'unknown') =>
    [upsert, insert, deleted].reduce((total, counts) => total + counts[outcome], 0);
  const seconds = (ms: number) => Number((ms / 1_000).toFixed(1));
  return {
    'writes acknowledged': sum('ok'),
    refused: sum('failed'),
    unknown: sum('unknown'),
    'longest gap (s)': seconds(gap.longestMs),
    'longest recovery (s)': seconds(Math.max(...recoveries)),
  };
}
