import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { Random } from '../support/random.js';
import { expectRefusal } from '../support/refusal.js';
import { startServer } from '../support/server.js';
import { ownFolder, Vectord } from '../support/vectord.js';
import { runCommand } from './command.js';
import { DIMENSION } from './load.js';
import { LogFile } from './log-file.js';
import { expectServed, writeSome } from './serve.js';

const random = new Random(12);

let folder = '';
let dataPath = '';
let keysPath = '';
let backupPath = '';
let restoredPath = '';

beforeEach(() => {
  ({ folder, dataPath, keysPath } = ownFolder());
  backupPath = join(folder, 'backups', 'one');
  restoredPath = join(folder, 'restored');
});

test.each(['stopped', 'killed'])(
  'a backup of a service that was %s comes back whole, without its keys',
  async (end) => {
    const ledger = await writeSome(dataPath, random, end === 'killed' ? 'kill' : 'stop');
    expect((await runCommand(dataPath, 'backup', backupPath)).code).toBe(0);
    expect(readdirSync(backupPath).toSorted()).toEqual(['00000001.log', 'MANIFEST']);
    expect(statSync(backupPath).mode & 0o777).toBe(0o700);
    expect((await runCommand(dataPath, 'check', backupPath)).code).toBe(0);
    expect((await runCommand(restoredPath, 'restore', backupPath)).code).toBe(0);
    await expectServed({ dataPath: restoredPath }, ledger);
    // Neither of the two shares anything with the other.
    await expectServed({ dataPath }, ledger);
    expect((await runCommand(dataPath, 'check', backupPath)).code).toBe(0);
  },
);

test('a backup into a folder that holds something is refused with 1, and one of nothing too', async () => {
  await writeSome(dataPath, random);
  const { code, stderr } = await runCommand(dataPath, 'backup', folder);
  expect(stderr).toMatch(`${folder} is not empty`);
  expect(code).toBe(1);
  const missing = join(folder, 'missing');
  expect(await runCommand(missing, 'backup', backupPath)).toMatchObject({
    code: 1,
    stderr: `vectord backup failed: there is no data folder ${missing}: set DATA_PATH as for the service\n`,
  });
  expect(await runCommand(dataPath, 'restore', missing)).toMatchObject({
    code: 1,
    stderr: `vectord restore failed: there is no folder ${missing}\n`,
  });
  expect(readdirSync(folder).toSorted()).toEqual(['data', 'keys.json']);
});

test('the folder of a node of a cluster is refused with 1, and that of its points is named', async () => {
  const points = join(dataPath, 'shard-1');
  await writeSome(points, random);
  writeFileSync(join(dataPath, 'node.json'), '{"cluster":"vectord","node":"x"}\n');
  for (const args of [
    ['backup', backupPath],
    ['check'],
    ['repair', dataPath, '--into', backupPath],
  ]) {
    const { code, stderr } = await runCommand(dataPath, ...args);
    expect(stderr).toContain(
      `${dataPath} is that of a node of a cluster: its points are in ${points}`,
    );
    expect(code).toBe(1);
  }
  expect((await runCommand(points, 'backup', backupPath)).code).toBe(0);
  rmSync(points, { recursive: true });
  mkdirSync(`${points}.copy`);
  expect((await runCommand(dataPath, 'check')).stderr).toContain('it has no points');
});

test('a backup into the data folder itself is refused with 1', async () => {
  await writeSome(dataPath, random);
  const before = readdirSync(dataPath);
  const target = join(dataPath, 'backups', 'one');
  const { code, stderr } = await runCommand(dataPath, 'backup', target);
  expect(stderr).toMatch(`${target} is in ${dataPath}, which is to be backed up`);
  expect(code).toBe(1);
  expect(readdirSync(dataPath)).toEqual(before);
});

test('a backup of a damaged log fails with 3, naming file and offset, and leaves nothing', async () => {
  await writeSome(dataPath, random);
  const log = LogFile.only(dataPath);
  log.flipBit(4096 + 20);
  const { code, stderr } = await runCommand(dataPath, 'backup', backupPath);
  expect(stderr).toMatch(`${log.path} is damaged at byte 4096: `);
  expect(code).toBe(3);
  expect(readdirSync(backupPath)).toEqual([]);
});

test('a damaged backup is refused with 3, naming every place, and nothing is restored', async () => {
  await writeSome(dataPath, random);
  await runCommand(dataPath, 'backup', backupPath);
  const log = LogFile.only(backupPath);
  log.flipBit(4096 + 64 + 20);
  const { code, stdout, stderr } = await runCommand(restoredPath, 'restore', backupPath);
  expect(stdout).toMatch(`${log.path} is damaged at byte ${4096 + 64}, sequence 1: `);
  expect(stderr).toMatch(`${log.path} is damaged at byte ${4096 + 64}: `);
  expect(code).toBe(3);
  expect(readdirSync(restoredPath)).toEqual(['LOCK']);
});

test('an unfinished backup is none', async () => {
  await writeSome(dataPath, random);
  await runCommand(dataPath, 'backup', backupPath);
  rmSync(join(backupPath, 'MANIFEST'));
  const { code, stderr } = await runCommand(restoredPath, 'restore', backupPath);
  expect(stderr).toMatch(`${backupPath} holds no MANIFEST`);
  expect(code).toBe(1);
});

test('a restore into a folder that is served is refused with 4, into one with points with 1', async () => {
  const ledger = await writeSome(dataPath, random);
  await runCommand(dataPath, 'backup', backupPath);
  const used = await runCommand(dataPath, 'restore', backupPath);
  expect(used.stderr).toMatch(`${dataPath} is not empty`);
  expect(used.code).toBe(1);
  const server = await startServer({ dataPath, dimension: DIMENSION });
  const served = await runCommand(dataPath, 'restore', backupPath);
  expect(served.stderr).toMatch(`in use by another process (pid ${server.pid})`);
  expect(served.code).toBe(4);
  expect(await server.stop()).toBe(0);
  await expectServed({ dataPath }, ledger);
});

test('no service starts on a restore that was interrupted, until it was run again', async () => {
  const ledger = await writeSome(dataPath, random);
  await runCommand(dataPath, 'backup', backupPath);
  await runCommand(restoredPath, 'restore', backupPath);
  // As it is before the last step, and as it is in the middle of the log.
  renameSync(join(restoredPath, 'MANIFEST'), join(restoredPath, 'MANIFEST.restoring'));
  writeFileSync(join(restoredPath, '00000001.log'), new Uint8Array(300));
  const refused = new Vectord({ DATA_PATH: restoredPath, SERVICE_KEYS_FILE: keysPath });
  await expectRefusal(refused, 1, 'was begun and not finished: run it again');
  expect((await runCommand(restoredPath, 'check')).code).toBe(3);
  expect((await runCommand(restoredPath, 'restore', backupPath)).code).toBe(0);
  await expectServed({ dataPath: restoredPath }, ledger);
});

test('the keys of the folder restored into stay as they are', async () => {
  await writeSome(dataPath, random);
  await runCommand(dataPath, 'backup', backupPath);
  const first = await Vectord.start({ DATA_PATH: restoredPath, DIMENSION: String(DIMENSION) });
  await first.stop();
  const keys = readFileSync(join(restoredPath, 'keys.json'), 'utf8');
  expect((await runCommand(restoredPath, 'restore', backupPath)).code).toBe(0);
  expect(readFileSync(join(restoredPath, 'keys.json'), 'utf8')).toBe(keys);
});
