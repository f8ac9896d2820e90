import { chmodSync, chownSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { openClients, type VectorClient } from '../support/clients.js';
import { writeKeys } from '../support/folders.js';
import { Random } from '../support/random.js';
import { expectNoTrace, expectRefusal } from '../support/refusal.js';
import { ownFolder, Vectord, type Launch } from '../support/vectord.js';
import { expectLedger } from './check.js';
import { Ledger } from './ledger.js';
import { DIMENSION, randomPoint } from './load.js';

const BATCHES = 4;
const BATCH_POINTS = 100;

/** Each test starts a few services, on a busy machine maybe. */
const SLOW = { timeout: 90_000 };

/** The superuser may do anything: then the service runs as nobody. */
const isSuperuser = process.getuid?.() === 0;
const NOBODY = 65_534;
const user = isSuperuser ? NOBODY : process.getuid?.();
const AS_USER: Launch = isSuperuser
  ? { wrapper: ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] }
  : {};

const random = new Random(30);

let folder = '';
let dataPath = '';
let keysPath = '';
let ledger: Ledger;

describe.skipIf(!(await canRun()))('without rights (as root needs setpriv)', SLOW, () => {
  beforeEach(async () => {
    ({ folder, dataPath, keysPath } = ownFolder());
    if (isSuperuser) for (const path of [folder, keysPath]) chownSync(path, NOBODY, NOBODY);
    ledger = new Ledger();
  });

  test('a folder that cannot be made is refused, naming it', async () => {
    chmodSync(folder, 0o555);
    await expectRefused(`the data folder ${dataPath} (DATA_PATH) cannot be made: `, 'EACCES');
    chmodSync(folder, 0o755);
  });

  test.each([
    ['read', 0o333],
    ['written', 0o555],
    ['entered', 0o666],
  ])(
    'a folder that may not be %s is refused, fresh or not, naming it and what to do',
    async (_, mode) => {
      const refusal = `the data folder ${dataPath} (DATA_PATH) cannot be written to: EACCES`;
      makeDataFolder();
      chmodSync(dataPath, mode);
      await expectRefused(refusal, `the service runs as user ${user}`);
      chmodSync(dataPath, 0o700);
      expect(readdirSync(dataPath)).toEqual([]);
      await fillAndStop();
      chmodSync(dataPath, mode);
      await expectRefused(refusal, `the service runs as user ${user}`);
      chmodSync(dataPath, 0o700);
      await expectWhole();
    },
  );

  test.each(['LOCK', 'MANIFEST', '00000001.log'])(
    'a file that may not be read is refused, naming it and what to do: %s',
    async (name) => {
      await fillAndStop();
      for (const mode of [0o000, 0o444]) {
        chmodSync(join(dataPath, name), mode);
        // The manifest is replaced, not written to.
        if (name === 'MANIFEST' && mode !== 0) continue;
        const advice = `the service runs as user ${user}`;
        await expectRefused(`\`${join(dataPath, name)}\`: Permission denied`, advice);
      }
      chmodSync(join(dataPath, name), 0o600);
      await expectWhole();
    },
  );

  test('a keys file in the folder that may not be read is refused, naming it', async () => {
    makeDataFolder();
    const path = join(dataPath, 'keys.json');
    writeKeys(path, { role: 'readwrite', key: 'the-key' });
    chmodSync(path, 0o000);
    const vectord = run([], { SERVICE_KEYS_FILE: path });
    await expectRefusal(vectord, 1, `the keys file ${path} cannot be read: EACCES`);
  });

  test('a snapshot that may not be read costs a rebuild, and is kept', async () => {
    await fillAndStop();
    const name = readdirSync(dataPath).find((file) => file.endsWith('.snapshot')) ?? '';
    chmodSync(join(dataPath, name), 0o000);
    expect(await expectWhole()).toContain(`did not use a snapshot: `);
    expect(readdirSync(dataPath)).toContain(name);
  });

  test.each(['check', 'backup'])(
    'a %s of what may not be read fails with 1, naming it',
    async (command) => {
      await fillAndStop();
      const path = join(dataPath, '00000001.log');
      chmodSync(path, 0o000);
      const vectord = run(command === 'check' ? [command] : [command, join(folder, 'backup')]);
      expect(await vectord.exit).toEqual({ code: 1, signal: null });
      expect(vectord.stderr).toMatch(`vectord ${command} failed: `);
      expect(vectord.stderr).toMatch(`\`${path}\``);
      expectNoTrace(vectord);
    },
  );

  test('a folder that becomes read-only while it is served: acknowledged stays, and the faults are told', async () => {
    const vectord = await start();
    const clients = openClients(vectord.addresses);
    await fill(clients[0]);
    chmodSync(dataPath, 0o555);
    // What is there of the log goes on; the space of deleted points cannot be given back.
    const ids = [...ledger.stored.keys()].slice(0, (BATCHES * BATCH_POINTS) / 2);
    for (const id of ids) await ledger.delete(id, (sent) => clients[1].delete(sent));
    await vectord.until(() => vectord.stderr.includes('no snapshot, or no space given back'));
    expect(vectord.stderr).toMatch(faultAt(/\d{8}\.log/));
    expect(await healthOf(vectord)).toEqual([200, 200]);

    const refusals = await Promise.all(clients.map(insertUntilRefused));
    expect(refusals[0]).toContain('answered 500: ');
    expect(refusals[1]).toContain(' INTERNAL: ');
    await vectord.until(() =>
      vectord.stderr.includes('"msg":"writes are refused until a restart"'),
    );
    expect(await healthOf(vectord)).toEqual([200, 503]);
    await expectLedger(clients, ledger);
    for (const client of clients) client.close();

    expect(await vectord.stop()).toEqual({ code: 1, signal: null });
    expect(vectord.stderr).toContain(
      '"msg":"stopped: the next start recovers what was acknowledged"',
    );
    expectNoTrace(vectord);
    chmodSync(dataPath, 0o700);
    await expectWhole();
  });
});

async function canRun(): Promise<boolean> {
  const version = run(['--version']);
  return await version.exit.then(
    ({ code }) => code === 0,
    () => false,
  );
}

function run(args: readonly string[] = [], settings: Record<string, string> = {}): Vectord {
  return new Vectord({ ...environment(), ...settings }, args, AS_USER);
}

async function start(): Promise<Vectord> {
  return await Vectord.start(environment(), AS_USER);
}

function environment(): Record<string, string> {
  return {
    DATA_PATH: dataPath,
    SERVICE_KEYS_FILE: keysPath,
    SEGMENT_BYTES: '65536',
    WARM_METRICS: 'euclidean',
    DIMENSION: String(DIMENSION),
    PATH: process.env['PATH'] ?? '',
  };
}

function makeDataFolder(): void {
  mkdirSync(dataPath, { mode: 0o700 });
  if (isSuperuser) chownSync(dataPath, NOBODY, NOBODY);
}

async function fill(client: VectorClient): Promise<void> {
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const points = Array.from({ length: BATCH_POINTS }, () => randomPoint(random));
    await ledger.insert(points, (sent) => client.insertBatch(sent));
  }
}

async function fillAndStop(): Promise<void> {
  const vectord = await start();
  const [client, other] = openClients(vectord.addresses);
  await fill(client);
  await vectord.until(() => vectord.stderr.includes('"msg":"the graph is built"'));
  client.close();
  other.close();
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
}

/** Starts on the folder, compares, stops in order, and returns the log. */
async function expectWhole(): Promise<string> {
  const vectord = await start();
  const clients = openClients(vectord.addresses);
  await expectLedger(clients, ledger);
  for (const client of clients) client.close();
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
  return vectord.stderr;
}

async function expectRefused(...parts: string[]): Promise<void> {
  await expectRefusal(run(), 1, ...parts);
}

/** A line of the log that says what the system refused, and where. */
function faultAt(name: RegExp): RegExp {
  return new RegExp(`"fault":"[^"]*\`${dataPath}/${name.source}\`: Permission denied`);
}

async function insertUntilRefused(client: VectorClient): Promise<string> {
  for (;;) {
    const points = Array.from({ length: 20 }, () => randomPoint(random));
    try {
      await ledger.insert(points, (sent) => client.insertBatch(sent));
    } catch (error) {
      return String(error);
    }
  }
}

/** The statuses of `/health` and `/ready`. */
async function healthOf(vectord: Vectord): Promise<number[]> {
  const paths = ['/health', '/ready'];
  const answers = await Promise.all(paths.map((path) => fetch(vectord.value('HTTP') + path)));
  await Promise.all(answers.map((answer) => answer.text()));
  return answers.map(({ status }) => status);
}
