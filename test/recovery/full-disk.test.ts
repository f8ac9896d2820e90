import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openClients, type VectorClient, type TestPoint } from '../support/clients.js';
import { forEachParallel } from '../support/parallel.js';
import { Random } from '../support/random.js';
import { canMount, SmallDisk } from '../support/small-disk.js';
import { ownFolder, Vectord } from '../support/vectord.js';
import { expectLedger } from './check.js';
import { Ledger } from './ledger.js';
import { DIMENSION, randomPoint } from './load.js';

const DISK_BYTES = 5 << 20;
const FILLER_BYTES = 1 << 20;
const SEGMENT_BYTES = 1 << 20;

const RESERVE_BYTES = SEGMENT_BYTES;
/** What compaction has for a copy, with a margin. */
const SPARE_BYTES = (SEGMENT_BYTES / 8) * 9;

/** Each takes 128 bytes: more in all than a page, which a full disk may still have. */
const DELETES = 100;

/** Of these some are deleted: too few bytes for compaction to make room. */
const SMALL_POINTS = 650;

const random = new Random(6);

let dataPath = '';
let keysPath = '';
let disk: SmallDisk;
let ledger: Ledger;
let vectord: Vectord;
let clients: readonly [VectorClient, VectorClient];

function prepare(): void {
  ({ dataPath, keysPath } = ownFolder());
  mkdirSync(dataPath);
  ledger = new Ledger();
}

afterEach(() => {
  for (const client of clients) client.close();
  disk.release();
});

describe.skipIf(!canMount())('on a full disk (needs Linux that lets its users mount one)', () => {
  beforeEach(async () => {
    prepare();
    disk = await SmallDisk.mount(dataPath, DISK_BYTES);
    await start();
    const points = Array.from({ length: SMALL_POINTS }, () => randomPoint(random));
    await ledger.insert(points, (sent) => clients[0].insertBatch(sent));
    writeFileSync(disk.path('filler'), Buffer.alloc(FILLER_BYTES, 1));
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
    expect(statSync(disk.path('SPARE')).size).toBe(SPARE_BYTES);
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
    // It is looked for a few times a second.
    await sleep(200);
    await expectInserts();
    expect(statSync(disk.path('RESERVE')).size).toBe(RESERVE_BYTES);
    await stop();
    await start();
    await expectLedger(clients, ledger);
  }, 90_000);
});

const CROWDED = { bytes: 4 << 20, segmentBytes: 256 << 10 };

/** Of a hundred points so many go, which gives their space and that of their deletes back. */
const GONE = 38;

/** A batch of points of this size is a file of the log too large for any reserve. */
const LARGE_BATCH = { count: 150, contentBytes: 10_000 };

describe.skipIf(!canMount())('deletes alone (needs Linux that lets its users mount one)', () => {
  beforeEach(prepare);

  test('make room, one by one, more of them than their reserve holds, past kill -9 too', async () => {
    disk = await SmallDisk.mount(dataPath, CROWDED.bytes);
    await start(CROWDED.segmentBytes);
    await fillUpSmall();
    const count = ledger.stored.size;
    const gone = [...ledger.stored.keys()].filter((_, index) => (index * 37) % 100 < GONE);
    expect(gone.length * 128).toBeGreaterThan(2 * CROWDED.segmentBytes);
    const parts = [0, 1, 2].map((part) => gone.filter((_, index) => index % 3 === part));
    for (const part of parts) {
      await deleteAll(part);
      await stop('SIGKILL');
      await start(CROWDED.segmentBytes);
    }
    // In a few tries: what is stored last has to be copied with the rest.
    await within(60_000, async () => {
      await fillUpSmall();
      const gained = ledger.stored.size + gone.length - count;
      return gained > gone.length / 2 ? undefined : `${gained} of ${gone.length} have come back`;
    });
    await expectLedger(clients, ledger);
    await stop('SIGKILL');
    await start(CROWDED.segmentBytes);
    await expectLedger(clients, ledger);
    await stop();
  }, 240_000);

  test('make room where snapshots have to go for it, which the log tells', async () => {
    disk = await SmallDisk.mount(dataPath, CROWDED.bytes);
    const environment = { WARM_METRICS: 'euclidean' };
    await start(CROWDED.segmentBytes, environment);
    const large = Array.from({ length: LARGE_BATCH.count }, () => ({
      ...randomPoint(random),
      content: 'x'.repeat(LARGE_BATCH.contentBytes),
    }));
    await ledger.insert(large, (sent) => clients[0].insertBatch(sent));
    const gone = [...ledger.stored.keys()].filter((_, index) => index % 2 === 0);
    for (let index = 0; index < 30; index += 1) await insertSmall(100);
    await stop();
    expect(snapshots()).toHaveLength(1);
    await start(CROWDED.segmentBytes, environment);
    await fillUpSmall();
    await deleteAll(gone);
    await within(60_000, async () => await refusalOf(0, 1, smallPoint));
    expect(snapshots()).toEqual([]);
    await vectord.until(() => vectord.stderr.includes('the snapshots were removed to free space'));
    await expectLedger(clients, ledger);
    await stop('SIGKILL');
    await start(CROWDED.segmentBytes, environment);
    await expectLedger(clients, ledger);
    await stop();
  }, 240_000);
});

function snapshots(): string[] {
  return readdirSync(disk.path('')).filter((name) => name.endsWith('.snapshot'));
}

async function insertSmall(count: number): Promise<void> {
  const points = Array.from({ length: count }, smallPoint);
  await ledger.insert(points, (sent) => clients[0].insertBatch(sent));
}

/** Inserts small points until there is no room for one. */
async function fillUpSmall(): Promise<void> {
  for (const count of [100, 10, 1]) {
    let refusal: string | undefined;
    while (refusal === undefined) refusal = await refusalOf(0, count, smallPoint);
    expect(refusal).toContain(REFUSALS[0]);
  }
}

/** One by one, a few clients at a time. Who is ahead of compaction tries again. */
async function deleteAll(ids: readonly string[]): Promise<void> {
  await forEachParallel(ids, 4, async (id, index) => {
    const client = clients[index % 2] as VectorClient;
    await ledger.delete(id, async (sent) => {
      await within(60_000, async () => await refusalOfDelete(client, sent));
    });
  });
}

async function refusalOfDelete(client: VectorClient, id: string): Promise<string | undefined> {
  try {
    await client.delete(id);
    return undefined;
  } catch (error) {
    const text = String(error);
    if (REFUSALS.some((refusal) => text.includes(refusal))) return text;
    throw error;
  }
}

/** Tries until nothing is said to be missing. */
async function within(timeMs: number, attempt: () => Promise<string | undefined>): Promise<void> {
  const end = Date.now() + timeMs;
  for (;;) {
    const missing = await attempt();
    if (missing === undefined) return;
    expect(Date.now(), missing).toBeLessThan(end);
    await sleep(100);
  }
}

async function start(
  segmentBytes = SEGMENT_BYTES,
  more: Record<string, string> = {},
): Promise<void> {
  const environment = {
    DATA_PATH: dataPath,
    SERVICE_KEYS_FILE: keysPath,
    DIMENSION: String(DIMENSION),
    SEGMENT_BYTES: String(segmentBytes),
    ...more,
    PATH: process.env['PATH'] ?? '',
  };
  vectord = await Vectord.start(environment, { wrapper: disk.wrapper });
  clients = openClients(vectord.addresses);
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
async function refusalOf(
  at: number,
  count: number,
  make = count > 1 ? largePoint : () => randomPoint(random),
): Promise<string | undefined> {
  const client = clients[at] as VectorClient;
  const points = Array.from({ length: count }, make);
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

function smallPoint(): TestPoint {
  const { vector, contentType } = randomPoint(random);
  return { vector, contentType, content: String(ledger.stored.size) };
}

function largePoint(): TestPoint {
  const point = randomPoint(random);
  return { ...point, content: point.content.padEnd(10_000, 'x') };
}
