import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Vectord } from '../support/vectord.js';
import type { Random } from '../support/random.js';
import type { TestServer } from '../support/server.js';
import type { Load } from './load.js';
import { countsOf, remainsIn } from './remains.js';

/** Small files, so that there is always one to compact; graphs, so that there is a snapshot. */
export const SETTINGS = { SEGMENT_BYTES: '65536', WARM_METRICS: 'euclidean,hamming' };

/** Compaction looks for work once a second; a snapshot is small. */
const MOMENT_TIMEOUT_MS = 3_000;

/** Where kills happen, and what becomes of them. */
export interface Scene {
  readonly dataPath: string;
  readonly keysPath: string;
  /** Settings of the service. */
  readonly env: Readonly<Record<string, string>>;
  readonly random: Random;
  readonly tally: Tally;
}

type Moment = (scene: Scene, server: TestServer, load: Load) => Promise<void>;

/** How the process is brought to each kind of moment. What it then hit is told by its files. */
const MOMENTS: readonly Moment[] = [
  async ({ tally }, server, load) => {
    await Promise.all([load.end(), server.kill()]);
    tally.add('while writing');
  },
  async (scene, server, load) => {
    await Promise.all([load.end(), server.kill()]);
    if (await killInRecovery(scene)) scene.tally.add('in recovery');
  },
  async ({ dataPath }, server, load) => {
    const ended = load.end();
    process.kill(server.pid, 'SIGTERM');
    const endMs = performance.now() + MOMENT_TIMEOUT_MS;
    while (!remainsIn(dataPath).snapshot && performance.now() < endMs && isRunning(server.pid)) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all([ended, server.kill()]);
  },
  async ({ dataPath, random }, server, load) => {
    const endMs = performance.now() + MOMENT_TIMEOUT_MS;
    await load.until(() => remainsIn(dataPath).compaction || performance.now() > endMs);
    await sleep(random.below(12));
    await Promise.all([load.end(), server.kill()]);
  },
  async ({ random, tally }, server, load) => {
    const ended = load.end();
    const stopped = server.stop();
    await sleep(random.below(100));
    await Promise.all([ended, server.kill()]);
    tally.add((await stopped) === 0 ? 'too late' : 'in the shutdown');
  },
];

/** Kills a server under load, at another kind of moment each round. */
export async function killAtMoment(
  round: number,
  scene: Scene,
  server: TestServer,
  load: Load,
): Promise<void> {
  const moment = MOMENTS[round % MOMENTS.length];
  if (moment === undefined) throw new Error('there are moments');
  await moment(scene, server, load);
  scene.tally.addRemains(scene.dataPath);
}

/** Kills a start once it has the lock of the folder; whether that was before it was ready. */
async function killInRecovery({ dataPath, keysPath, env, random }: Scene): Promise<boolean> {
  const vectord = new Vectord({ DATA_PATH: dataPath, SERVICE_KEYS_FILE: keysPath, ...env });
  const holder = `pid ${vectord.process.pid}\n`;
  await vectord.until(() => readFileSync(join(dataPath, 'LOCK'), 'utf8') === holder);
  await sleep(random.below(10));
  await vectord.stop('SIGKILL');
  return !vectord.stdout.includes('ready');
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Counts at which kinds of moments the process was killed. */
export class Tally {
  readonly #counts = new Map<string, number>();
  #compacted = 0;

  add(moment: string): void {
    this.#counts.set(moment, this.#count(moment) + 1);
  }

  /** What the files tell of the kill that has just been. */
  addRemains(dataPath: string): void {
    const { snapshot, compaction, rotation } = remainsIn(dataPath);
    this.add('in all');
    if (snapshot) this.add('in a snapshot');
    if (compaction) this.add('in compaction');
    if (rotation) this.add('in the making of a file of the log');
    this.#compacted += countsOf(dataPath).compacted;
  }

  /** What the kills were meant to hit and have not, and what was never there after one. */
  missing(): string[] {
    const moments = ['while writing', 'in recovery', 'in a snapshot', 'in compaction'];
    const missing = moments.filter((moment) => this.#count(moment) === 0);
    if (this.#compacted === 0) missing.push('a compacted file');
    return missing;
  }

  text(): string {
    return [...this.#counts].map(([moment, count]) => `${count} ${moment}`).join(', ');
  }

  #count(moment: string): number {
    return this.#counts.get(moment) ?? 0;
  }
}
