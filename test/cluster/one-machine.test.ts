import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/node.js';
import { HAS_NO_NATS } from '../support/cluster.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { findNatsServer } from '../support/tools.mjs';
import { Vectord } from '../support/vectord.js';

const SCRIPT = fileURLToPath(new URL('../../scripts/cluster/main.mjs', import.meta.url));
const TIMEOUT_MS = 120_000;
const START_MS = 60_000;

/** A node, as the script prints it. */
interface Node {
  readonly http: string;
  readonly grpc: string;
  /** Where there are several. */
  readonly shard: string | undefined;
  readonly pid: number;
}

const inputOf = (folder: string): string => join(folder, 'input');

describe.skipIf(HAS_NO_NATS)('npm run cluster (needs nats-server)', { timeout: TIMEOUT_MS }, () => {
  function run(
    folder: string,
    args: readonly string[] = [],
    more: Record<string, string> = {},
  ): Vectord {
    const env = { PATH: process.env['PATH'] ?? '', NATS_SERVER: findNatsServer() ?? '', ...more };
    // What is written into its input is entered.
    const input = inputOf(folder);
    mkdirSync(folder, { recursive: true });
    if (!existsSync(input)) execFileSync('mkfifo', [input]);
    const entered = ['sh', '-c', 'exec "$@" <> "$0"', input];
    const command = [...entered, process.execPath, SCRIPT, '--folder', folder, ...args];
    const script = new Vectord(env, [], { command });
    // What it has started goes with it.
    onTestFinished(async () => void (await script.stop()));
    return script;
  }

  /** The script once all runs, and what it has printed of it. */
  async function started(folder: string, env: Record<string, string> = {}) {
    const script = run(folder, [], env);
    await script.until(() => script.stdout.includes('Ctrl-C ends all'), START_MS);
    const key = / {2}key +(\S+)/.exec(script.stdout)?.[1] ?? '';
    const line = /^ {2}node \d {2}(http:\S+) {2}(grpc:\S+)(?: {2}shard (\d))? {2}process (\d+)$/gm;
    const nodes = Array.from(
      script.stdout.matchAll(line),
      ([, http = '', grpc = '', shard, pid]): Node => ({ http, grpc, shard, pid: Number(pid) }),
    );
    return { script, key, nodes };
  }

  /** The same of one shard. */
  async function startedOne(folder: string) {
    const { script, key, nodes } = await started(folder);
    expect(nodes).toHaveLength(3);
    const [first, second, third] = nodes as [Node, Node, Node];
    return { script, key, first, second, third };
  }

  /** The NATS servers that have their folders in this one. */
  function serversIn(folder: string): number {
    const lines = execFileSync('ps', ['-A', '-ww', '-o', 'args='], { encoding: 'utf8' }).split(
      '\n',
    );
    return lines.filter((line) => line.includes(`-c ${folder}/n`)).length;
  }

  /** By the two lines that it prints, as they are. */
  function expectToStoreAndFind({ stdout }: Vectord): void {
    const [store = '', find = ''] = stdout.match(/^ {2}curl [^]+?'$/gm) ?? [];
    expect(execFileSync('sh', ['-c', store], { encoding: 'utf8' })).toContain('"stored":1');
    expect(execFileSync('sh', ['-c', find], { encoding: 'utf8' })).toContain('hello');
  }

  const isRunning = ({ pid }: Node): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };

  test('runs a cluster whose points are there again at the next start', async () => {
    const folder = makeTemporaryFolder();
    const { script, key, first, second, third } = await startedOne(folder);
    expect(serversIn(folder)).toBe(3);

    expectToStoreAndFind(script);

    const again = run(folder);
    expect((await again.exit).code).toBe(1);
    expect(again.stderr).toContain('a cluster runs in');

    process.kill(third.pid, 'SIGKILL');
    await script.until(() =>
      /^node 3 has ended \(SIGKILL\), .* 5 others go on$/m.test(script.stdout),
    );
    const writer = connect(first.grpc, { key });
    await writer.upsert([{ vector: [1, 1, 1, 1], content: 'by two' }]);
    writer.close();
    const reader = connect(second.http, { key });
    expect(await reader.count()).toBe(2);
    reader.close();

    appendFileSync(inputOf(folder), '\n');
    await script.until(() => /^node 3 runs again, process \d+$/m.test(script.stdout));
    const [, pid] = /^node 3 runs again, process (\d+)$/m.exec(script.stdout) ?? [];
    expect(isRunning({ ...third, pid: Number(pid) })).toBe(true);
    const isReady = async () => (await fetch(`${third.http}/ready`).catch(() => undefined))?.status;
    await expect.poll(isReady, { timeout: START_MS, interval: 200 }).toBe(200);

    expect(await script.stop('SIGINT')).toEqual({ code: 0, signal: null });
    expect(script.stdout).toContain('all have ended');
    expect([first, second].filter(isRunning)).toEqual([]);
    expect(serversIn(folder)).toBe(0);

    const next = await startedOne(folder);
    const counter = connect(next.third.grpc, { key: next.key });
    expect(await counter.count()).toBe(2);
    counter.close();
    expect(await next.script.stop('SIGTERM')).toEqual({ code: 0, signal: null });
    expect([next.first, next.second, next.third].filter(isRunning)).toEqual([]);
    expect(serversIn(folder)).toBe(0);
  });

  test('runs three nodes for each shard', async () => {
    const { script, nodes } = await started(makeTemporaryFolder(), { CLUSTER_SHARDS: '2' });
    expect(nodes.map(({ shard }) => shard)).toEqual(['0', '0', '0', '1', '1', '1']);
    expectToStoreAndFind(script);
    const [status = ''] = script.stdout.match(/^ {2}CLUSTER_URL=.* cluster status$/m) ?? [];
    const answer = execFileSync('sh', ['-c', status], { encoding: 'utf8' });
    expect(answer).toContain('2 shards, each with 3 replicas');
    expect(answer).toMatch(/\nall is well\n$/);
    expect(await script.stop('SIGINT')).toEqual({ code: 0, signal: null });
    expect(nodes.filter(isRunning)).toEqual([]);
  });

  test('ends all where it is stopped before all runs', async () => {
    const folder = makeTemporaryFolder();
    const script = run(folder);
    while (serversIn(folder) < 3) await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await script.stop('SIGINT')).toEqual({ code: 0, signal: null });
    expect(serversIn(folder)).toBe(0);
  });

  test('says which process does not start, and why, and leaves none behind', async () => {
    const folder = makeTemporaryFolder();
    const script = run(folder, ['--dimension', '0']);
    expect((await script.exit).code).toBe(1);
    expect(script.stderr).toMatch(/^cluster: node \d has ended \(exit code 2\):$/m);
    expect(script.stderr).toContain('DIMENSION is "0"');
    expect(serversIn(folder)).toBe(0);
  });
});
