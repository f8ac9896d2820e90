import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { killAll, makeFolder, Vectord, writeKeys } from '../process/vectord.js';
import { openClients } from '../support/clients.js';
import { Random } from '../support/random.js';
import { startServer, type TestServer } from '../support/server.js';
import { expectLedger } from './check.js';
import { Ledger } from './ledger.js';
import { DIMENSION, Load } from './load.js';
import { LogFile } from './log-file.js';

/** Few by default; a long run sets more. */
const ROUNDS = Number(process.env['VECTORD_KILL_ROUNDS'] ?? 5);
const ROUND_TIMEOUT_MS = 30_000;
const STARTS = 6;

let folder = '';
let dataPath = '';
let ledger: Ledger;

beforeEach(() => {
  folder = makeFolder();
  dataPath = join(folder, 'data');
  ledger = new Ledger();
});

afterEach(async () => {
  await killAll();
  rmSync(folder, { recursive: true });
});

test(
  `kill -9 under load, ${ROUNDS} times: nothing acknowledged is lost, nothing is halved`,
  async () => {
    const random = new Random(Date.now());
    for (let round = 0; round < ROUNDS; round += 1) {
      const server = await startServer({ dataPath, dimension: DIMENSION });
      const clients = openClients(server);
      await expectLedger(clients, ledger);
      await killUnderLoad(server, 20 + random.below(120), random);
      for (const client of clients) client.close();
    }
    await expectSoundStop();
  },
  ROUNDS * ROUND_TIMEOUT_MS,
);

test(
  `kill -9 during a start, ${STARTS} times: recovery begins anew and ends in the same points`,
  async () => {
    const random = new Random(Date.now());
    await killUnderLoad(await startServer({ dataPath, dimension: DIMENSION }), 60, random);
    const keysPath = join(folder, 'keys.json');
    writeKeys(keysPath, { role: 'readwrite', key: 'the-key' });
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

async function killUnderLoad(server: TestServer, writes: number, random: Random): Promise<void> {
  const clients = openClients(server);
  const load = new Load(clients, ledger, random);
  await load.reaches(writes);
  await Promise.all([load.end(), server.kill()]);
  for (const client of clients) client.close();
}

/** Starts once more, compares, and stops in order. */
async function expectSoundStop(): Promise<void> {
  const server = await startServer({ dataPath, dimension: DIMENSION });
  const clients = openClients(server);
  await expectLedger(clients, ledger);
  expect(ledger.stored.size).toBeGreaterThan(0);
  for (const client of clients) client.close();
  expect(await server.stop()).toBe(0);
}
