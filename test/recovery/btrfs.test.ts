import { spawnSync } from 'node:child_process';
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openClients, type TestPoint, type VectorClient } from '../support/clients.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { Random } from '../support/random.js';
import { ownFolder, Vectord } from '../support/vectord.js';
import { expectLedger } from './check.js';
import { Ledger } from './ledger.js';
import { DIMENSION, randomPoint } from './load.js';

const DISK_BYTES = 40 << 20;
const FILLER_BYTES = 8 << 20;
const DELETES = 200;

/** What says that nothing was done. */
const FULL = /answered 507: |RESOURCE_EXHAUSTED: /;
/** What a write is answered that could be neither made durable nor undone. */
const READ_ONLY = /answered 503: |UNAVAILABLE: /;

const random = new Random(8);
const ledger = new Ledger();

const needs = '(needs root, mkfs.btrfs and loop devices)';
describe.skipIf(!canMountBtrfs())(`on a full btrfs ${needs}`, () => {
  test('no acknowledged write is lost, no refused one comes back, and the log says what to expect', async () => {
    const { folder, environment } = ownFolder();
    const disk = mountBtrfs(folder);
    onTestFinished(() => unmount(disk));
    const onDisk = {
      ...environment,
      DATA_PATH: join(disk, 'data'),
      DIMENSION: String(DIMENSION),
      SEGMENT_BYTES: String(1 << 20),
    };
    writeFileSync(join(disk, 'filler'), Buffer.alloc(FILLER_BYTES, 1));

    await serve(onDisk, 'SIGKILL', async (clients, vectord) => {
      expect(vectord.stderr).toContain('is on btrfs');
      await fillUp(clients);
      fillRest(join(disk, 'rest'));
      await deleteSome(clients);
      await expectLedger(clients, ledger);
    });

    // Without space it starts, or says what it lacks.
    const again = new Vectord(onDisk);
    await again.until(() => /^ready$|free some on that disk/im.test(again.stdout + again.stderr));
    await again.stop('SIGKILL');

    rmSync(join(disk, 'filler'));
    await serve(onDisk, 'SIGTERM', async (clients) => {
      await expectLedger(clients, ledger);
      for (const client of clients) {
        const points = Array.from({ length: 3 }, () => randomPoint(random));
        await ledger.insert(points, (sent) => client.insertBatch(sent));
      }
    });
    await serve(onDisk, 'SIGTERM', async (clients) => await expectLedger(clients, ledger));
  }, 240_000);
});

async function serve(
  environment: Record<string, string>,
  end: 'SIGTERM' | 'SIGKILL',
  act: (clients: readonly VectorClient[], vectord: Vectord) => Promise<void>,
): Promise<void> {
  const vectord = await Vectord.start(environment);
  const clients = openClients(vectord.addresses);
  try {
    await act(clients, vectord);
  } finally {
    for (const client of clients) client.close();
  }
  const exit = end === 'SIGTERM' ? { code: 0, signal: null } : { code: null, signal: end };
  expect(await vectord.stop(end), vectord.stderr).toEqual(exit);
}

/** Inserts until both interfaces refuse, large batches first. */
async function fillUp(clients: readonly VectorClient[]): Promise<void> {
  for (const count of [20, 1]) {
    for (const client of clients) {
      let isRefused = false;
      while (!isRefused) {
        const points = Array.from({ length: count }, largePoint);
        isRefused = await isInsertRefused(client, points);
      }
    }
  }
}

/** Others take what the service has left. */
function fillRest(path: string): void {
  const file = openSync(path, 'w');
  const page = Buffer.alloc(4096, 1);
  const fill = (): never => {
    for (;;) {
      writeSync(file, page);
      fsyncSync(file);
    }
  };
  expect(fill).toThrow('ENOSPC');
  closeSync(file);
}

/** There is no promise that there is space for them here. */
async function deleteSome(clients: readonly VectorClient[]): Promise<void> {
  const ids = [...ledger.stored.keys()].slice(0, DELETES);
  for (const [at, client] of clients.entries()) {
    for (const id of ids.filter((_, index) => index % clients.length === at)) {
      await ledger.delete(id, (sent) => client.delete(sent)).catch(expectRefusal);
    }
  }
}

/** Points refused by a full disk are forgotten: if one of them is ever seen, it is a stranger. */
async function isInsertRefused(
  client: VectorClient,
  points: readonly TestPoint[],
): Promise<boolean> {
  try {
    const ids = await client.insertBatch(points);
    await ledger.insert(points, async () => ids);
    return false;
  } catch (error) {
    expectRefusal(error);
    if (!FULL.test(String(error))) {
      await ledger.insert(points, () => Promise.reject(error as Error)).catch(() => {});
    }
    return true;
  }
}

function expectRefusal(error: unknown): void {
  const text = String(error);
  if (!FULL.test(text) && !READ_ONLY.test(text)) throw error;
}

function largePoint(): TestPoint {
  const point = randomPoint(random);
  return { ...point, content: point.content.padEnd(10_000, 'x') };
}

function mountBtrfs(parent: string): string {
  const [image, path] = [join(parent, 'image'), join(parent, 'disk')];
  writeFileSync(image, '');
  truncateSync(image, DISK_BYTES);
  mkdirSync(path);
  // Mixed: the least size that there is.
  run('mkfs.btrfs', '--quiet', '--mixed', image);
  run('mount', '-o', 'loop', image, path);
  return path;
}

function unmount(path: string): void {
  run('umount', '--lazy', path);
}

function run(program: string, ...args: string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw error ?? new Error(`${program}: ${stderr}`);
}

function canMountBtrfs(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  try {
    unmount(mountBtrfs(makeTemporaryFolder()));
    return true;
  } catch {
    return false;
  }
}
