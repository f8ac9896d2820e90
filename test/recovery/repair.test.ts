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
import { beforeEach, expect, test } from 'vitest';
import { writeKeys } from '../support/folders.js';
import { Random } from '../support/random.js';
import { expectRefusal } from '../support/refusal.js';
import { startServer } from '../support/server.js';
import { ownFolder, Vectord } from '../support/vectord.js';
import { runCommand, type Ended } from './command.js';
import { Ledger } from './ledger.js';
import { DIMENSION, randomPoint } from './load.js';
import { LogFile } from './log-file.js';
import { expectServed, serve, writeSome } from './serve.js';

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
let keysPath = '';
let newPath = '';
let lossesPath = '';

beforeEach(() => {
  ({ folder, dataPath, keysPath } = ownFolder());
  newPath = join(folder, 'new');
  lossesPath = `${newPath}.losses.json`;
});

test('a flipped byte in a record costs that point alone, which is named by its id', async () => {
  const ledger = await writeSome(dataPath, random);
  const [id = '', point] = [...ledger.stored][3] ?? [];
  const content = Buffer.from(point?.content ?? '');
  const log = LogFile.only(dataPath);
  log.flipBit(log.find(content) + 2);
  expect((await runCommand(dataPath, 'check')).code).toBe(3);
  const before = stateOf(dataPath);
  const { code, stdout, stderr } = await repair();
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^1 point lost, and 0 records of which nothing is known$/m);
  expect(stateOf(dataPath)).toEqual(before);
  const losses = readLosses();
  expect(losses).toMatchObject({ source: dataPath, target: newPath, lostSequences: [] });
  expect(losses.lostPoints).toMatchObject([{ id, file: '00000001.log' }]);
  expect(losses.possiblyOutdated).toEqual({ count: 0, below: 0, newest: null });
  ledger.stored.delete(id);
  expect(losses.saved).toBe(ledger.stored.size);
  await expectSound(ledger);
});

test(
  'a flipped byte in the header of a group or of a segment costs none of 48,001 points',
  async () => {
    const ledger = new Ledger();
    await serve({ dataPath }, async ([client]) => {
      for (const count of [LARGE_BATCH, 1]) {
        const points = Array.from({ length: count }, () => randomPoint(random));
        await ledger.insert(points, (sent) => client.insertBatch(sent));
      }
    });
    const some = [...ledger.stored].filter((_, index) => index % READ_ONE_IN === 0);
    const log = LogFile.holding(dataPath, Buffer.from(some[0]?.[1].content ?? ''));
    log.flipBit(FIRST_GROUP + 20);
    log.flipBit(50);
    await expectRefused(dataPath);
    const { code, stdout } = await repair();
    expect(stdout).toMatch(/^48,001 points saved, /m);
    expect(code).toBe(0);
    await serve({ dataPath: newPath }, async ([client]) => {
      for (const [id, point] of some) expect(await client.get(id)).toMatchObject(point);
    });
  },
  LARGE_TIMEOUT_MS,
);

test('without MANIFEST all points are saved, and may be outdated', async () => {
  const ledger = await writeSome(dataPath, random);
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
  await expectSound(ledger);
});

test('a point whose delete is lost is back, and counted as possibly outdated', async () => {
  const ledger = await writeSome(dataPath, random);
  const [deleted = ''] = ledger.deleted;
  const log = LogFile.only(dataPath);
  const idBytes = Buffer.from(deleted.replaceAll('-', ''), 'hex');
  log.flipBit(readFileSync(log.path).lastIndexOf(idBytes));
  expect((await repair()).code).toBe(0);
  const { lostSequences, possiblyOutdated } = readLosses();
  expect(lostSequences).toHaveLength(1);
  expect(possiblyOutdated.count).toBeGreaterThan(0);
  await serve({ dataPath: newPath }, async ([client]) => {
    expect(await client.get(deleted)).toBeDefined();
  });
});

test('a source that nothing can be written to is repaired, without its keys', async () => {
  const ledger = await writeSome(dataPath, random);
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
  await expectSound(ledger);
});

test('a folder that is served is refused with 4', async () => {
  const server = await startServer({ dataPath, dimension: DIMENSION });
  const { code, stderr } = await repair();
  expect(stderr).toMatch(`in use by another process (pid ${server.pid})`);
  expect(code).toBe(4);
  expect(await server.stop()).toBe(0);
});

test('what is in the way is refused with 1, and stays', async () => {
  await writeSome(dataPath, random);
  mkdirSync(newPath);
  writeFileSync(join(newPath, 'mine'), '');
  expectFailed(await repair(), `${newPath} is not empty`, 1);
  rmSync(newPath, { recursive: true });
  writeFileSync(lossesPath, 'mine');
  expectFailed(await repair(), `${lossesPath} exists already`, 1);
  expect(readFileSync(lossesPath, 'utf8')).toBe('mine');
  rmSync(lossesPath);
  const inside = await runCommand(dataPath, 'repair', dataPath, '--into', join(dataPath, 'new'));
  expectFailed(inside, `is in ${dataPath}, which is to be repaired`, 1);
  const missing = join(folder, 'missing');
  const nothing = await runCommand(dataPath, 'repair', missing, '--into', newPath);
  expectFailed(nothing, missing, 1);
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  const noPoint = await runCommand(dataPath, 'repair', empty, '--into', newPath);
  expectFailed(noPoint, `${empty} holds no point: there is nothing to repair`, 1);
});

test('where nothing can be read of the log it fails with 3, and leaves nothing', async () => {
  await writeSome(dataPath, random);
  const log = LogFile.only(dataPath);
  log.write(0, new Uint8Array(readFileSync(log.path).length));
  const { code, stderr } = await repair();
  expect(stderr).toMatch(`${log.path} is damaged at byte 0`);
  expect(code).toBe(3);
  expect(readdirSync(newPath)).toEqual(['LOCK']);
});

test('no service starts on a repair that was cut off, which can be run again', async () => {
  const ledger = await writeSome(dataPath, random);
  mkdirSync(newPath);
  writeFileSync(join(newPath, 'MANIFEST.restoring'), '');
  writeFileSync(join(newPath, '00000001.log'), new Uint8Array(300));
  await expectRefused(newPath);
  expect((await repair()).code).toBe(0);
  await expectSound(ledger);
});

async function repair(): Promise<Ended> {
  return await runCommand(dataPath, 'repair', dataPath, '--into', newPath);
}

function expectFailed({ code, stderr }: Ended, text: string, expectedCode: number): void {
  expect(stderr).toMatch(text);
  expect(code).toBe(expectedCode);
}

function readLosses(): Losses {
  return JSON.parse(readFileSync(lossesPath, 'utf8')) as Losses;
}

async function expectRefused(path: string): Promise<void> {
  await expectRefusal(new Vectord({ DATA_PATH: path, SERVICE_KEYS_FILE: keysPath }), 1);
}

async function expectSound(ledger: Ledger): Promise<void> {
  expect((await runCommand(newPath, 'check')).code).toBe(0);
  await expectServed({ dataPath: newPath }, ledger);
}

/** Name, content and time of the last change of each file. */
function stateOf(path: string): unknown[] {
  return readdirSync(path).map((name) => {
    const file = join(path, name);
    return [name, readFileSync(file).toString('base64'), statSync(file).mtimeMs];
  });
}
