import { readdirSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openClients } from '../support/clients.js';
import { makeTemporaryFolder, writeKeys } from '../support/folders.js';
import { Random } from '../support/random.js';
import { expectRefusal } from '../support/refusal.js';
import { startServer, type TestServer } from '../support/server.js';
import { Vectord } from '../support/vectord.js';
import { Ledger } from './ledger.js';
import { DIMENSION, randomPoint } from './load.js';
import { LogFile } from './log-file.js';
import { expectServed } from './serve.js';

const random = new Random(1);

let dataPath = '';
let keysPath = '';
let ledger: Ledger;

function makeDataFolder(): void {
  const folder = makeTemporaryFolder();
  dataPath = join(folder, 'data');
  keysPath = join(folder, 'keys.json');
  ledger = new Ledger();
  writeKeys(keysPath, { role: 'readwrite', key: 'the-key' });
}

describe('in the folder of a service that was stopped', () => {
  let log: LogFile;

  beforeAll(async () => {
    makeDataFolder();
    const server = await startServer({ dataPath, dimension: DIMENSION });
    await writeSome(server);
    await server.stop();
    log = LogFile.only(dataPath);
  });

  test.each([
    ['a content type', () => log.find(idBytes(firstId())) - 11],
    ['an id', () => log.find(idBytes(firstId())) + 15],
    ['a group header', () => log.find(idBytes(firstId())) - 16 - 64 + 30],
    ['the header of the log', () => 48],
  ])('one flipped bit in %s refuses the start', async (_, offset) => {
    await expectFlipNoticed(log, offset());
  });

  test('a refusal names the points that it may concern, and the way out', async () => {
    const at = log.find(idBytes(firstId()));
    // The checksum of the record, and the header of its group.
    for (const offset of [at - 16, at - 16 - 64 + 30]) {
      log.flipBit(offset);
      expect(await refusal()).toContain(firstId());
      expect(await refusal()).toContain('`vectord repair FOLDER --into NEW`');
      log.flipBit(offset);
    }
    log.flipBit(48);
    expect(await refusal()).toMatch(/it may cost the records with the sequences 1 to \d+ at least/);
    log.flipBit(48);
  });

  test.each([
    ['vector', () => log.find(vectorBytes(first().vector)) + 5],
    ['content', () => log.find(Buffer.from(first().content)) + 2],
  ])('one flipped bit in a %s costs that point, and no start', async (_, offset) => {
    const at = offset();
    log.flipBit(at);
    const server = await startServer({ dataPath, dimension: DIMENSION });
    const clients = openClients(server);
    const others = [...ledger.stored].filter(([id]) => id !== firstId());
    for (const client of clients) {
      await expect(client.get(firstId())).rejects.toThrow('Internal server error');
      const got = await Promise.all(others.map(([id]) => client.get(id)));
      expect(got).toEqual(others.map(([id, point]) => ({ id, ...point })));
      client.close();
    }
    expect(await server.stop()).toBe(0);
    log.flipBit(at);
  });

  test('one flipped bit in the manifest refuses the start', async () => {
    const path = join(dataPath, 'MANIFEST');
    const sound = readFileSync(path);
    const flipped = Uint8Array.from(sound);
    flipped[20] = (flipped[20] ?? 0) ^ 1;
    writeFileSync(path, flipped);
    await expectDamage(path);
    writeFileSync(path, sound);
  });

  test.each(['the log', 'the manifest'])('the loss of %s refuses the start', async (lost) => {
    const path = lost === 'the log' ? log.path : join(dataPath, 'MANIFEST');
    renameSync(path, `${dataPath}.lost`);
    // What tells of the loss is the other file, or what remains of it.
    await expectDamage(log.path);
    renameSync(`${dataPath}.lost`, path);
  });

  test.each([
    ['emptied', () => 0],
    ['cut in the middle of its points', () => log.end() / 2],
    ['cut behind its points', () => log.end()],
  ])('a log that was %s refuses the start', async (_, length) => {
    const sound = readFileSync(log.path);
    truncateSync(log.path, length());
    await expectDamage(log.path);
    writeFileSync(log.path, sound);
  });

  test('every refusal has left the folder as it was: mended, it starts with all points', async () => {
    expect(readdirSync(dataPath)).not.toContain('lost');
    await expectServed({ dataPath }, ledger);
  });
});

test('in the folder of a service that was killed, a flipped bit refuses the start too', async () => {
  makeDataFolder();
  const server = await startServer({ dataPath, dimension: DIMENSION });
  await writeSome(server);
  await server.kill();
  // No manifest was written since: the writes that followed prove that this one was on disk.
  const log = LogFile.only(dataPath);
  await expectFlipNoticed(log, log.find(idBytes(firstId())) + 15);
  await expectServed({ dataPath }, ledger);
});

describe('a torn tail is cut, with a line in the log, and costs nothing acknowledged:', () => {
  let server: TestServer;
  let log: LogFile;

  beforeEach(async () => {
    makeDataFolder();
    server = await startServer({ dataPath, dimension: DIMENSION });
    await writeSome(server);
    log = LogFile.only(dataPath);
  });

  test('garbage behind the last group', async () => {
    await server.kill();
    const end = log.end();
    log.appendGarbage();
    const started = await expectServed({ dataPath }, ledger);
    expect(started).toMatch(`cut a torn tail of 1024 bytes at byte ${end} of ${log.path}`);
  });

  test('a last group that is there in part', async () => {
    // The service proves what it has acknowledged as soon as it is idle: that group is the last.
    const proven = () => vi.waitFor(() => expect(log.isProven()).toBe(true), { timeout: 10_000 });
    await proven();
    const manifest = readFileSync(join(dataPath, 'MANIFEST'));
    await writeSome(server);
    await proven();
    await server.kill();
    // It was still to be written: the manifest that is there knows nothing of that group.
    writeFileSync(join(dataPath, 'MANIFEST'), manifest);
    log.write(log.end() - 64, new Uint8Array(64));
    expect(await expectServed({ dataPath }, ledger)).toMatch('cut a torn tail of 64 bytes at byte');
  });

  test('a second start finds nothing left to cut', async () => {
    await server.kill();
    log.appendGarbage();
    await expectServed({ dataPath }, ledger);
    expect(await expectServed({ dataPath }, ledger)).not.toMatch('torn tail');
  });
});

/** Stores points one by one and as a batch, and deletes one. */
async function writeSome(server: TestServer): Promise<void> {
  const clients = openClients(server);
  for (const client of clients) {
    const point = randomPoint(random);
    await ledger.insert([point], async () => [await client.insert(point)]);
    const batch = Array.from({ length: 10 }, () => randomPoint(random));
    await ledger.insert(batch, (points) => client.insertBatch(points));
    await ledger.delete([...ledger.stored.keys()].at(-1) ?? '', (id) => client.delete(id));
    client.close();
  }
}

function firstId(): string {
  return [...ledger.stored.keys()][0] ?? '';
}

function first() {
  const point = ledger.stored.get(firstId());
  if (point === undefined) throw new Error('nothing is stored');
  return point;
}

function vectorBytes(vector: readonly number[]): Uint8Array {
  return new Uint8Array(Float32Array.from(vector).buffer);
}

function idBytes(id: string): Uint8Array {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

/** Flips a bit, expects a start to be refused that names a place before it, and flips it back. */
async function expectFlipNoticed(log: LogFile, offset: number): Promise<void> {
  log.flipBit(offset);
  expect(await expectDamage(log.path)).toBeLessThanOrEqual(offset);
  log.flipBit(offset);
}

/** The start ends in order, naming the file and an offset, which is returned. */
async function expectDamage(path: string): Promise<number> {
  const text = await refusal();
  expect(text).toContain(`${path} is damaged at byte `);
  return Number(/ is damaged at byte (\d+)/.exec(text)?.[1]);
}

/** What a start says that is refused. */
async function refusal(): Promise<string> {
  return await expectRefusal(new Vectord({ DATA_PATH: dataPath, SERVICE_KEYS_FILE: keysPath }), 1);
}
