import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { killAll, makeFolder, Vectord, writeKeys } from '../process/vectord.js';
import { openClients } from '../support/clients.js';
import { Random } from '../support/random.js';
import { startServer } from '../support/server.js';
import { expectLedger } from './check.js';
import { runCommand, type Ended } from './command.js';
import { Ledger } from './ledger.js';
import { DIMENSION, randomPoint } from './load.js';
import { LogFile } from './log-file.js';

const FIRST_GROUP = 4096;
const LARGE_BATCH = 48_000;
const READ_ONE_IN = 100;
const LARGE_TIMEOUT_MS = 120_000;

interface Losses {
  readonly source: string;
  readonly target: string;
  readonly saved: number;
  readonly lostPoints: readonly { id: string; sequence: number; file: string; offset: number }[];
  readonly lostSequences: readonly { from: number; to: number | null }[];
  readonly possiblyOutdated: { count: number; below: number; newest: string | null };
  readonly damages: readonly { file: string; offset: number; sequence: number | null }[];
}

const random = new Random(21);

let folder = '';
let dataPath = '';
let newPath = '';
let lossesPath = '';

beforeEach(() => {
  folder = makeFolder();
  dataPath = join(folder, 'data');
  newPath = join(folder, 'new');
  lossesPath = `${newPath}.losses.json`;
});

afterEach(async () => {
  await killAll();
  rmSync(folder, { recursive: true });
});

test('a flipped byte in a record costs that point alone, which is named by its id', async () => {
  const ledger = await writeSome();
  const [id = '', point] = [...ledger.stored][3] ?? [];
  const content = Buffer.from(point?.content ?? '');
  const log = LogFile.only(dataPath);
  log.flipBit(log.find(content) + 2);
  expect((await runCommand(dataPath, 'check')).code).toBe(3);
  const before = stateOf(dataPath);
  const { code, stdout, stderr } = await repair();
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^1 points lost, and 0 records of which nothing is known$/m);
  expect(stateOf(dataPath)).toEqual(before);
  const losses = readLosses();
  expect(losses).toMatchObject({ source: dataPath, target: newPath, lostSequences: [] });
  expect(losses.lostPoints).toMatchObject([{ id, file: '00000001.log' }]);
  expect(losses.possiblyOutdated).toEqual({ count: 0, below: 0, newest: null });
  ledger.stored.delete(id);
  expect(losses.saved).toBe(ledger.stored.size);
  await expectServed(ledger);
});

test(
  'a flipped byte in the header of a group or of a segment costs none of 48,001 points',
  async () => {
    const server = await startServer({ dataPath, dimension: DIMENSION });
    const [client, other] = openClients(server);
    const ledger = new Ledger();
    const points = Array.from({ length: LARGE_BATCH }, () => randomPoint(random));
    await ledger.insert(points, (sent) => client.insertBatch(sent));
    await ledger.insert([randomPoint(random)], async ([sent]) =>
      sent === undefined ? [] : [await client.insert(sent)],
    );
    client.close();
    other.close();
    expect(await server.stop()).toBe(0);
    const log = LogFile.holding(dataPath, Buffer.from(points[0]?.content ?? ''));
    log.flipBit(FIRST_GROUP + 20);
    log.flipBit(50);
    await expectRefused(dataPath);
    const { code, stdout } = await repair();
    expect(stdout).toMatch(/^48001 points saved, /m);
    expect(code).toBe(0);
    await expectSomeServed(ledger);
  },
  LARGE_TIMEOUT_MS,
);

test('without MANIFEST all points are saved, and may be outdated', async () => {
  const ledger = await writeSome();
  rmSync(join(dataPath, 'MANIFEST'));
  const { code, stdout } = await repair();
  expect(stdout).toMatch(/^the end of the log may be lost/m);
  expect(code).toBe(0);
  const { lostSequences, possiblyOutdated, saved, damages } = readLosses();
  expect(lostSequences).toMatchObject([{ to: null }]);
  expect(possiblyOutdated).toMatchObject({
    count: saved,
    newest: [...ledger.stored.keys()].at(-1),
  });
  expect(damages).toMatchObject([{ file: 'MANIFEST', offset: 0, sequence: null }]);
  await expectServed(ledger);
});

test('a point whose delete is lost is back, and counted as possibly outdated', async () => {
  const ledger = await writeSome();
  const [deleted = ''] = ledger.deleted;
  const log = LogFile.only(dataPath);
  const idBytes = Buffer.from(deleted.replaceAll('-', ''), 'hex');
  log.flipBit(readFileSync(log.path).lastIndexOf(idBytes));
  expect((await repair()).code).toBe(0);
  const { lostSequences, possiblyOutdated } = readLosses();
  expect(lostSequences).toHaveLength(1);
  expect(possiblyOutdated.count).toBeGreaterThan(0);
  const server = await startServer({ dataPath: newPath, dimension: DIMENSION });
  const clients = openClients(server);
  expect(await clients[0].get(deleted)).toBeDefined();
  for (const client of clients) client.close();
  expect(await server.stop()).toBe(0);
});

test('a source that nothing can be written to is repaired, without its keys', async () => {
  const ledger = await writeSome();
  writeKeys(join(dataPath, 'keys.json'), { role: 'readwrite', key: 'the-key-of-the-source' });
  LogFile.only(dataPath).flipBit(FIRST_GROUP + 20);
  for (const name of readdirSync(dataPath)) chmodSync(join(dataPath, name), 0o400);
  chmodSync(dataPath, 0o500);
  const before = stateOf(dataPath);
  try {
    expect((await repair()).code).toBe(0);
    expect(stateOf(dataPath)).toEqual(before);
  } finally {
    chmodSync(dataPath, 0o700);
  }
  expect(readdirSync(newPath).filter((name) => name.includes('key'))).toEqual([]);
  expect(statSync(newPath).mode & 0o777).toBe(0o700);
  await expectServed(ledger);
});

test('a folder that is served is refused with 4', async () => {
  const server = await startServer({ dataPath, dimension: DIMENSION });
  const { code, stderr } = await repair();
  expect(stderr).toMatch(`in use by another process (pid ${server.pid})`);
  expect(code).toBe(4);
  expect(await server.stop()).toBe(0);
});

test('what is in the way is refused with 1, and stays', async () => {
  await writeSome();
  mkdirSync(newPath);
  writeFileSync(join(newPath, 'mine'), '');
  expectRefusal(await repair(), `${newPath} is not empty`, 1);
  rmSync(newPath, { recursive: true });
  writeFileSync(lossesPath, 'mine');
  expectRefusal(await repair(), `${lossesPath} exists already`, 1);
  expect(readFileSync(lossesPath, 'utf8')).toBe('mine');
  rmSync(lossesPath);
  const inside = await runCommand(dataPath, 'repair', dataPath, '--into', join(dataPath, 'new'));
  expectRefusal(inside, `is in ${dataPath}, which is to be repaired`, 1);
  const missing = join(folder, 'missing');
  const nothing = await runCommand(dataPath, 'repair', missing, '--into', newPath);
  expectRefusal(nothing, missing, 1);
});

test('where nothing can be read of the log it fails with 3, and leaves nothing', async () => {
  await writeSome();
  const log = LogFile.only(dataPath);
  log.write(0, new Uint8Array(readFileSync(log.path).length));
  const { code, stderr } = await repair();
  expect(stderr).toMatch(`${log.path} is damaged at byte 0`);
  expect(code).toBe(3);
  expect(readdirSync(newPath)).toEqual(['LOCK']);
});

test('no service starts on a repair that was cut off, which can be run again', async () => {
  const ledger = await writeSome();
  mkdirSync(newPath);
  writeFileSync(join(newPath, 'MANIFEST.restoring'), '');
  writeFileSync(join(newPath, '00000001.log'), new Uint8Array(300));
  await expectRefused(newPath);
  expect((await repair()).code).toBe(0);
  await expectServed(ledger);
});

async function repair(): Promise<Ended> {
  return await runCommand(dataPath, 'repair', dataPath, '--into', newPath);
}

function expectRefusal({ code, stderr }: Ended, text: string, expectedCode: number): void {
  expect(stderr).toMatch(text);
  expect(code).toBe(expectedCode);
}

function readLosses(): Losses {
  return JSON.parse(readFileSync(lossesPath, 'utf8')) as Losses;
}

/** Stores a few points in the data folder, deletes some and ends the service. */
async function writeSome(): Promise<Ledger> {
  const ledger = new Ledger();
  const server = await startServer({ dataPath, dimension: DIMENSION });
  const clients = openClients(server);
  for (const client of clients) {
    const points = Array.from({ length: 20 }, () => randomPoint(random));
    await ledger.insert(points, (sent) => client.insertBatch(sent));
    await ledger.delete([...ledger.stored.keys()][0] ?? '', (id) => client.delete(id));
    client.close();
  }
  expect(await server.stop()).toBe(0);
  return ledger;
}

async function expectRefused(path: string): Promise<void> {
  const keysPath = join(folder, 'keys.json');
  writeKeys(keysPath, { role: 'readwrite', key: 'the-key' });
  const refused = new Vectord({ DATA_PATH: path, SERVICE_KEYS_FILE: keysPath });
  expect(await refused.exit).toEqual({ code: 1, signal: null });
}

/** Reads one in so many points back. */
async function expectSomeServed({ stored }: Ledger): Promise<void> {
  const server = await startServer({ dataPath: newPath, dimension: DIMENSION });
  const [client, other] = openClients(server);
  const some = [...stored].filter((_, index) => index % READ_ONE_IN === 0);
  for (const [id, point] of some) expect(await client.get(id)).toMatchObject(point);
  client.close();
  other.close();
  expect(await server.stop()).toBe(0);
}

async function expectServed(ledger: Ledger): Promise<void> {
  expect((await runCommand(newPath, 'check')).code).toBe(0);
  const server = await startServer({ dataPath: newPath, dimension: DIMENSION });
  const clients = openClients(server);
  await expectLedger(clients, ledger);
  for (const client of clients) client.close();
  expect(await server.stop()).toBe(0);
}

/** Name, content and time of the last change of each file. */
function stateOf(path: string): unknown[] {
  return readdirSync(path).map((name) => {
    const file = join(path, name);
    return [name, readFileSync(file).toString('base64'), statSync(file).mtimeMs];
  });
}
