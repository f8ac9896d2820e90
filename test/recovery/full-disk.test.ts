import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { killAll, makeFolder, Vectord, writeKeys } from '../process/vectord.js';
import { openClients, type VectorClient, type TestPoint } from '../support/clients.js';
import { Random } from '../support/random.js';
import { expectLedger } from './check.js';
import { Ledger } from './ledger.js';
import { DIMENSION, randomPoint } from './load.js';
import { canMount, SmallDisk } from './small-disk.js';

const DISK_BYTES = 4 << 20;
const SPARE_BYTES = 1 << 20;
const SEGMENT_BYTES = 1 << 20;
const RESERVE_BYTES = SEGMENT_BYTES / 4;

/** Each takes 128 bytes: more in all than a page, which a full disk may still have. */
const DELETES = 200;

/** Of these some are deleted: too few bytes for compaction to make room. */
const SMALL_POINTS = 650;

const random = new Random(6);

let folder = '';
let dataPath = '';
let disk: SmallDisk;
let ledger: Ledger;
let vectord: Vectord;
let clients: readonly [VectorClient, VectorClient];

describe.skipIf(!canMount())('on a full disk (needs Linux that lets its users mount one)', () => {
  beforeEach(async () => {
    folder = makeFolder();
    dataPath = join(folder, 'data');
    mkdirSync(dataPath);
    disk = await SmallDisk.mount(dataPath, DISK_BYTES);
    ledger = new Ledger();
    await start();
    const points = Array.from({ length: SMALL_POINTS }, () => randomPoint(random));
    await ledger.insert(points, (sent) => clients[0].insertBatch(sent));
    writeFileSync(disk.path('filler'), Buffer.alloc(SPARE_BYTES, 1));
  });

  afterEach(async () => {
    for (const client of clients) client.close();
    await killAll();
    disk.release();
    rmSync(folder, { recursive: true });
  });

  test('inserts are refused, 507 and RESOURCE_EXHAUSTED, reads go on, and inserts too once it has room', async () => {
    await fillUp();
    expect(ledger.stored.size).toBeGreaterThan(SMALL_POINTS);
    await expectLedger(clients, ledger);
    const refused = 'the disk is full: inserts are refused until there is room';
    expect(await healthOf()).toEqual(['OK', refused]);
    rmSync(disk.path('filler'));
    await expectInserts();
    expect(await healthOf()).toEqual(['OK', 'ready']);
    await expectLedger(clients, ledger);
    await stop();
  });

  test('deletes go on in their reserve, past kill -9 too, and only then inserts', async () => {
    await fillUp();
    expect(statSync(disk.path('RESERVE')).size).toBe(RESERVE_BYTES);
    await expectDeletes();
    expect(statSync(disk.path('RESERVE')).size).toBe(0);
    await expectInsertsRefused();

    for (const end of ['SIGKILL', 'SIGTERM'] as const) {
      await stop(end);
      await start();
      await expectLedger(clients, ledger);
      await expectDeletes();
      // What deletes have left of their reserve is not for inserts, after a start neither.
      await expectInsertsRefused();
    }

    rmSync(disk.path('filler'));
    await expectInserts();
    expect(statSync(disk.path('RESERVE')).size).toBe(RESERVE_BYTES);
    await stop();
    await start();
    await expectLedger(clients, ledger);
  }, 90_000);
});

async function start(): Promise<void> {
  const keysPath = join(folder, 'keys.json');
  if (!existsSync(keysPath)) writeKeys(keysPath, { role: 'readwrite', key: 'the-key' });
  const environment = {
    DATA_PATH: dataPath,
    SERVICE_KEYS_FILE: keysPath,
    DIMENSION: String(DIMENSION),
    SEGMENT_BYTES: String(SEGMENT_BYTES),
    PATH: process.env['PATH'] ?? '',
  };
  vectord = new Vectord(environment, [], disk.wrapper);
  await vectord.until(() => /^ready$/m.test(vectord.stdout));
  const keys = { readwrite: 'the-key', readonly: '' };
  clients = openClients({ http: vectord.value('HTTP'), grpc: vectord.value('gRPC'), keys });
}

async function stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
  for (const client of clients) client.close();
  const exit = signal === 'SIGTERM' ? { code: 0, signal: null } : { code: null, signal };
  expect(await vectord.stop(signal), vectord.stderr).toEqual(exit);
}

/** Inserts large batches and then small points until either interface refuses both. */
async function fillUp(): Promise<void> {
  for (const count of [10, 1]) {
    for (const at of [0, 1]) {
      let refusal: string | undefined;
      while (refusal === undefined) refusal = await refusalOf(at, count);
      expect(refusal).toContain(REFUSALS[at]);
    }
  }
}

const REFUSALS = ['answered 507: ', 'RESOURCE_EXHAUSTED: '] as const;

async function expectInsertsRefused(): Promise<void> {
  for (const [at, refusal] of REFUSALS.entries()) {
    expect(await refusalOf(at, 1)).toContain(refusal);
    expect(await refusalOf(at, 2)).toContain(refusal);
  }
}

async function expectInserts(): Promise<void> {
  for (const at of REFUSALS.keys()) {
    expect(await refusalOf(at, 1)).toBeUndefined();
    expect(await refusalOf(at, 3)).toBeUndefined();
  }
}

/**
 * Inserts points by one of the clients and says why they were refused, if they were. The refused
 * are not remembered as under way: if one of them is ever seen, it is a stranger.
 */
async function refusalOf(at: number, count: number): Promise<string | undefined> {
  const client = clients[at] as VectorClient;
  const points = Array.from({ length: count }, count > 1 ? largePoint : () => randomPoint(random));
  let ids: readonly string[];
  try {
    const [first, ...others] = points as [TestPoint, ...TestPoint[]];
    ids = others.length > 0 ? await client.insertBatch(points) : [await client.insert(first)];
  } catch (error) {
    return String(error);
  }
  await ledger.insert(points, async () => ids);
  return undefined;
}

async function expectDeletes(): Promise<void> {
  const ids = [...ledger.stored.keys()].slice(0, DELETES);
  for (const [index, id] of ids.entries()) {
    await ledger.delete(id, (sent) => (clients[index % 2] as VectorClient).delete(sent));
  }
}

async function healthOf(): Promise<string[]> {
  const ask = async (path: string) => await (await fetch(vectord.value('HTTP') + path)).text();
  return await Promise.all(['/health', '/ready'].map(ask));
}

function largePoint(): TestPoint {
  const point = randomPoint(random);
  return { ...point, content: point.content.padEnd(10_000, 'x') };
}
