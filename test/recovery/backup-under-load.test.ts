import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openClients, type TestPoint, type VectorClient } from '../support/clients.js';
import { Random } from '../support/random.js';
import { startServer } from '../support/server.js';
import { ownFolder } from '../support/vectord.js';
import { expectLedger, readAll } from './check.js';
import { runCommand } from './command.js';
import { isSame, Ledger, type Changes } from './ledger.js';
import { DIMENSION, Load, randomPoint } from './load.js';
import { serve } from './serve.js';

const ROUNDS = 2;
const ROUND_TIMEOUT_MS = 40_000;
/** More than half a segment in one batch, so that the next one begins another segment. */
const LARGE_BATCH = 40;
const LARGE_CONTENT = 'x'.repeat(1_000_000);

const random = new Random(12);

/** Remembers which points came as one batch, and what was there before each change. */
class BatchLedger extends Ledger {
  readonly batches: (readonly string[])[] = [];
  readonly earlier = new Map<string, (TestPoint | undefined)[]>();

  override async insert(
    points: readonly TestPoint[],
    send: (points: readonly TestPoint[]) => Promise<readonly string[]>,
  ): Promise<void> {
    await super.insert(points, async (sent) => {
      const ids = await send(sent);
      this.batches.push(ids);
      return ids;
    });
  }

  override async change(after: Changes, send: () => Promise<void>): Promise<void> {
    for (const id of after.keys()) {
      this.earlier.set(id, [...(this.earlier.get(id) ?? []), this.stored.get(id)]);
    }
    await super.change(after, send);
  }
}

test(
  'a backup of a service under load holds all that was acknowledged before it, and restored it answers',
  async () => {
    const { folder, dataPath } = ownFolder();
    const server = await startServer({ dataPath, dimension: DIMENSION });
    const clients = openClients(server);
    const ledger = new BatchLedger();
    for (let count = 0; count < 2; count += 1) await insertLarge(clients, ledger);
    const load = new Load(clients, ledger, random);
    const taken: { target: string; stored: string[]; deleted: string[] }[] = [];
    for (let round = 1; round <= ROUNDS; round += 1) {
      await load.reaches(load.acknowledged + 100);
      const target = join(folder, `backup-${round}`);
      const rotating = insertLarge(clients, ledger);
      taken.push({ target, stored: [...ledger.stored.keys()], deleted: [...ledger.deleted] });
      const { code, stdout, stderr } = await runCommand(dataPath, 'backup', target);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(/segments, of which [1-9]\d* linked/);
      await rotating;
    }
    await load.end();
    await expectLedger(clients, ledger);
    for (const client of clients) client.close();
    expect(await server.stop()).toBe(0);
    for (const { target, stored, deleted } of taken) {
      const found = await restoreAndRead(target);
      const wasBack = (id: string) => ledger.earlier.get(id)?.includes(undefined);
      const wasGone = (id: string) => ledger.deleted.has(id) || wasBack(id);
      const lost = stored.filter((id) => !found.has(id) && !wasGone(id));
      const back = deleted.filter((id) => found.has(id) && !wasBack(id));
      const known = [...ledger.stored.keys(), ...ledger.deleted];
      const strangers = [...found.keys()].filter((id) => !new Set(known).has(id));
      expect({ lost, back, strangers }).toEqual({ lost: [], back: [], strangers: [] });
      const changed = [...ledger.stored].filter(([id, point]) => {
        const states = [point, ...(ledger.earlier.get(id) ?? [])];
        return found.has(id) && !states.some((state) => isSame(state, found.get(id)));
      });
      expect(changed).toEqual([]);
      const halves = ledger.batches.filter((batch) => {
        const present = batch.filter((id) => found.has(id));
        const missing = batch.filter((id) => !found.has(id) && !wasGone(id));
        return present.length > 0 && missing.length > 0;
      });
      expect(halves).toEqual([]);
    }
  },
  (ROUNDS + 1) * ROUND_TIMEOUT_MS,
);

async function insertLarge([client]: readonly VectorClient[], ledger: Ledger): Promise<void> {
  const points = Array.from({ length: LARGE_BATCH }, () => {
    const point = randomPoint(random);
    return { ...point, content: point.content + LARGE_CONTENT };
  });
  await ledger.insert(points, async (sent) => (await client?.insertBatch(sent)) ?? []);
}

/** Restores a backup beside the others and reads what a service on it has, on both interfaces. */
async function restoreAndRead(source: string): Promise<Map<string, TestPoint>> {
  const target = `${source}-restored`;
  const { code, stderr } = await runCommand(target, 'restore', source);
  expect([code, stderr.replaceAll(/^verified or copied .*\n/gm, '')]).toEqual([0, '']);
  let found = new Map<string, TestPoint>();
  await serve({ dataPath: target }, async (clients) => void (found = await readAll(clients)));
  return found;
}
