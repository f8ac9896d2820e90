import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { openClients } from '../support/clients.js';
import { Random } from '../support/random.js';
import { startServer, type TestServer } from '../support/server.js';
import { ownFolder, Vectord } from '../support/vectord.js';
import { runCommand } from './command.js';
import { DIMENSION, randomPoint } from './load.js';
import { LogFile } from './log-file.js';

const POINTS = 40;

const random = new Random(11);

let folder = '';
let dataPath = '';

beforeEach(() => {
  ({ folder, dataPath } = ownFolder());
});

test('a sound folder is summed up with 0, and nothing in it changes', async () => {
  await writeAndStop();
  const before = filesOf(dataPath);
  for (const args of [['check'], ['check', dataPath]]) {
    const { code, stdout, stderr } = await runCommand(dataPath, ...args);
    expect(stdout).toMatch(`${dataPath}: 1 segment, `);
    expect(stdout).toMatch(` records, ${POINTS} points, `);
    expect(stdout).toMatch(/^no damage$/m);
    expect([code, stderr]).toEqual([0, '']);
  }
  expect(filesOf(dataPath)).toEqual(before);
});

test('a misspelled setting is told of by every command', async () => {
  await writeAndStop();
  const expected = 'DATA_PAHT is not a setting and has no effect: is DATA_PATH meant?';
  const env = { DATA_PATH: dataPath, DATA_PAHT: folder };
  for (const args of [['check'], ['backup', join(folder, 'copy')], ['keys', 'create']]) {
    const vectord = new Vectord(env, args);
    await vectord.exit;
    expect(vectord.stderr).toContain(expected);
    expect(vectord.stdout).not.toContain(expected);
  }
});

test('every damaged place is named with file, offset and sequence: 3', async () => {
  await writeAndStop();
  const log = LogFile.only(dataPath);
  const [, , third, , , , , , , tenth, eleventh] = groupsOf(log);
  if (third === undefined || tenth === undefined || eleventh === undefined) throw new Error();
  // The id of a record, and the header of a group.
  log.flipBit(third.offset + 64 + 16);
  log.flipBit(tenth.offset + 20);
  const { code, stdout } = await runCommand(dataPath, 'check');
  const at = `${log.path} is damaged at byte`;
  expect(stdout).toMatch(`${at} ${third.offset + 64}, sequence ${third.sequence}: `);
  expect(stdout).toMatch(`${at} ${tenth.offset}, sequence ${tenth.sequence}: `);
  // The group behind the lost one tells of the gap.
  expect(stdout).toMatch(`${at} ${eleventh.offset}, sequence ${tenth.sequence}: `);
  expect(stdout).toMatch(/^3 damaged places$/m);
  expect(code).toBe(3);
});

test('a torn tail is a note: 0', async () => {
  const server = await writeSome();
  await server.kill();
  const log = LogFile.only(dataPath);
  const end = log.end();
  log.appendGarbage();
  const { code, stdout } = await runCommand(dataPath, 'check');
  expect(stdout).toMatch(`note: a torn tail of 1024 bytes at byte ${end} of ${log.path}`);
  expect(stdout).toMatch(/^no damage$/m);
  expect(code).toBe(0);
});

test('a folder that is served is refused with 4, naming by whom, and served on', async () => {
  const server = await writeSome();
  const { code, stdout, stderr } = await runCommand(dataPath, 'check');
  expect(stderr).toMatch(`is in use by another process (pid ${server.pid})`);
  expect([code, stdout]).toEqual([4, '']);
  expect(await server.stop()).toBe(0);
});

test('a folder without points is sound, and one that is missing fails with 1', async () => {
  mkdirSync(dataPath);
  const empty = await runCommand(dataPath, 'check');
  expect(empty.stdout).toMatch(`note: nothing is stored in ${dataPath}`);
  expect(empty.code).toBe(0);
  expect(readdirSync(dataPath)).toEqual([]);
  const missing = join(folder, 'missing');
  expect(await runCommand(dataPath, 'check', missing)).toMatchObject({
    code: 1,
    stderr: `vectord check failed: there is no folder ${missing}\n`,
  });
  expect(await runCommand(missing, 'check')).toMatchObject({
    code: 1,
    stderr: `vectord check failed: there is no data folder ${missing}: set DATA_PATH as for the service\n`,
  });
  expect(existsSync(missing)).toBe(false);
});

/** Stores points one by one. */
async function writeSome(): Promise<TestServer> {
  const server = await startServer({ dataPath, dimension: DIMENSION });
  const [client, other] = openClients(server);
  for (let count = 0; count < POINTS; count += 1) await client.insert(randomPoint(random));
  other.close();
  return server;
}

async function writeAndStop(): Promise<void> {
  const server = await writeSome();
  expect(await server.stop()).toBe(0);
}

/** Where the groups of a log start, and with which sequence: each says how long it is. */
function groupsOf(log: LogFile): { offset: number; sequence: number }[] {
  const content = readFileSync(log.path);
  const end = log.end();
  const groups: { offset: number; sequence: number }[] = [];
  for (let offset = 4096; offset < end; offset += Number(content.readBigUInt64LE(offset + 24))) {
    groups.push({ offset, sequence: Number(content.readBigUInt64LE(offset + 32)) });
  }
  return groups;
}

/** Name, hash and time of the last change of each file. */
function filesOf(path: string): unknown[] {
  return readdirSync(path).map((name) => {
    const file = join(path, name);
    const hash = createHash('sha256').update(readFileSync(file)).digest('hex');
    return [name, hash, statSync(file).mtimeMs];
  });
}
