import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { Random } from '../support/random.js';
import { ownFolder, Vectord } from '../support/vectord.js';
import { expectLedger } from './check.js';
import { Ledger } from './ledger.js';
import { Load, randomPoint } from './load.js';
import { LogFile } from './log-file.js';
import { killAtMoment, SETTINGS, Tally } from './moments.js';
import { countsOf, remainsIn } from './remains.js';
import { expectServed, withServer, type Served } from './serve.js';

/** Some by default; a long run sets more. */
const ROUNDS = Number(process.env['VECTORD_KILL_ROUNDS'] ?? 20);
const SEED = Number(process.env['VECTORD_SEED'] ?? Date.now());
const ROUND_TIMEOUT_MS = 30_000;
const STARTS = 6;

console.log(`VECTORD_SEED=${SEED}`);

/** A snapshot is written in the background once so many points are linked. */
const POINTS_OF_A_SNAPSHOT = 20_500;

let dataPath = '';
let keysPath = '';
let ledger: Ledger;
let served: Served;

beforeEach(() => {
  ({ dataPath, keysPath } = ownFolder());
  served = { dataPath, env: SETTINGS };
  ledger = new Ledger();
});

test(
  `kill -9 at every kind of moment, ${ROUNDS} times: nothing acknowledged is lost, nothing is halved`,
  async () => {
    const random = new Random(SEED);
    const scene = { dataPath, keysPath, env: SETTINGS, random, tally: new Tally() };
    for (let round = 0; round < ROUNDS; round += 1) {
      await withServer(served, async (clients, server) => {
        await expectLedger(clients, ledger);
        const load = new Load(clients, ledger, random);
        await load.reaches(20 + random.below(120));
        await killAtMoment(round, scene, server, load);
      });
    }
    await expectSoundStop();
    console.log(`kills: ${scene.tally.text()}`);
    expect(scene.tally.missing()).toEqual([]);
    expect(countsOf(dataPath).snapshots).toBeGreaterThan(0);
  },
  ROUNDS * ROUND_TIMEOUT_MS,
);

test(
  'kill -9 while a snapshot is written under load costs nothing',
  async () => {
    const random = new Random(SEED);
    await withServer(served, async (clients, server) => {
      for (let stored = 0; stored < POINTS_OF_A_SNAPSHOT; stored += 1_000) {
        const points = Array.from({ length: 1_000 }, () => randomPoint(random));
        await ledger.insert(points, (sent) => clients[0].insertBatch(sent));
      }
      const load = new Load(clients, ledger, random);
      await load.until(() => remainsIn(dataPath).snapshot || countsOf(dataPath).snapshots > 0);
      await Promise.all([load.end(), server.kill()]);
    });
    await expectSoundStop();
  },
  6 * ROUND_TIMEOUT_MS,
);

test(
  `kill -9 during a start, ${STARTS} times: recovery begins anew and ends in the same points`,
  async () => {
    const random = new Random(SEED);
    await withServer({ dataPath }, async (clients, server) => {
      const load = new Load(clients, ledger, random);
      await load.reaches(60);
      await Promise.all([load.end(), server.kill()]);
    });
    const environment = { DATA_PATH: dataPath, SERVICE_KEYS_FILE: keysPath };

    const startedAtMs = performance.now();
    await (await Vectord.start(environment)).stop('SIGKILL');
    const startMs = performance.now() - startedAtMs;
    for (let start = 1; start <= STARTS; start += 1) {
      // Each start has a torn tail to cut, and dies somewhat later than the one before.
      LogFile.only(dataPath).appendGarbage();
      const vectord = new Vectord(environment);
      await sleep(startMs * (0.4 + (0.6 * start) / STARTS));
      await vectord.stop('SIGKILL');
    }
    await expectSoundStop();
  },
  2 * ROUND_TIMEOUT_MS,
);

/** Starts once more, compares, and stops in order. */
async function expectSoundStop(): Promise<void> {
  await expectServed(served, ledger);
  expect(ledger.stored.size).toBeGreaterThan(0);
}
