import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { Random } from '../support/random.js';
import { ownFolder } from '../support/vectord.js';
import { expectLedger } from './check.js';
import { Ledger } from './ledger.js';
import { Load } from './load.js';
import { killAtMoment, SETTINGS, Tally, type Scene } from './moments.js';
import { canCutPower, PowerCut, type Dropped } from './power-cut.js';
import { countsOf } from './remains.js';
import { expectServed, withServer } from './serve.js';

/** A few by default; a long run sets more. */
const ROUNDS = Number(process.env['VECTORD_POWER_ROUNDS'] ?? 10);
const SEED = Number(process.env['VECTORD_SEED'] ?? Date.now());
const ROUND_TIMEOUT_MS = 30_000;

/** From so many rounds on, each kind of moment has surely been hit. */
const ROUNDS_FOR_ALL_MOMENTS = 50;

console.log(`VECTORD_SEED=${SEED}`);

let dataPath = '';
let power: PowerCut;
let ledger: Ledger;
let scene: Scene;

beforeEach(() => {
  if (!canCutPower()) return;
  const { folder, keysPath } = ownFolder();
  const [watched, workshop] = [join(folder, 'disk'), join(folder, 'workshop')];
  for (const path of [watched, workshop]) mkdirSync(path);
  power = new PowerCut(watched, workshop);
  dataPath = join(power.folder, 'data');
  ledger = new Ledger();
  const env = { ...SETTINGS, ...power.environment() };
  scene = { dataPath, keysPath, env, random: new Random(SEED), tally: new Tally() };
});

describe.skipIf(!canCutPower())('when the power goes (needs Linux and cc)', () => {
  test(
    `at every kind of moment, ${ROUNDS} times, what was acknowledged stays, and nothing is halved`,
    async () => {
      let unsynced = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        if ((await cutUnderLoad(round)) > 0) unsynced += 1;
      }
      await expectServed({ dataPath, env: scene.env }, ledger);
      const { tally } = scene;
      console.log(`cuts: ${tally.text()}; ${unsynced} while something was unsynced`);
      expect(unsynced).toBeGreaterThan(0);
      expect(countsOf(dataPath).snapshots).toBeGreaterThan(0);
      expect(ROUNDS < ROUNDS_FOR_ALL_MOMENTS ? [] : tally.missing()).toEqual([]);
    },
    ROUNDS * ROUND_TIMEOUT_MS,
  );

  test.each<Dropped>(['fdatasync', 'folder'])(
    'a service whose syncs are forgotten (%s) is found to lose what it acknowledged',
    async (dropped) => {
      scene = { ...scene, env: { ...SETTINGS, ...power.environment(dropped) } };
      const rounds = async (): Promise<void> => {
        for (let round = 0; round < 20; round += 1) await cutUnderLoad(0);
      };
      await expect(rounds()).rejects.toThrow(/lost: |is damaged at byte/);
    },
    20 * ROUND_TIMEOUT_MS,
  );
});

/** Starts, compares, writes, and cuts the power. Returns how much had not been synced. */
async function cutUnderLoad(round: number): Promise<number> {
  await withServer({ dataPath, env: scene.env }, async (clients, server) => {
    await expectLedger(clients, ledger);
    const load = new Load(clients, ledger, scene.random);
    await load.reaches(20 + scene.random.below(120));
    await killAtMoment(round, scene, server, load);
  });
  return power.cut(scene.random);
}
