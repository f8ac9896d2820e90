import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Client } from '../../../src/client/node.js';
import { readinessOf } from '../../support/cluster.js';
import type { SmallDisk } from '../../support/small-disk.js';
import { leaderOf } from './server-state.js';
import {
  anyNode,
  anyServer,
  newPoint,
  otherReplica,
  PATIENT,
  SERVERS,
  type Fault,
  type Scene,
  withClients,
} from './scene.js';

/** So much is left at first, for writes that are under way: a node reports that as a full disk. */
const LITTLE_BYTES = 64 << 20;

/** More than compaction finds for the writes of the workload, which replace and delete points. */
const LARGE_POINTS = 24;
const LARGE_CONTENT = 'x'.repeat(64 << 10);

/** Until a node has to have an answer. */
const ONCE = { deadlineMs: 25_000, retries: { attempts: 1 } };

const FULL = 'the disk is full';
const silent = (name = '') => `the NATS server ${name} is silent, and does not come back`;
const NO_JETSTREAM = 'JetStream of the NATS servers does not answer';
const PATIENCE = { timeout: 60_000, interval: 200 };

/** Of a cluster whose nodes and servers have disks of their own. */
export const FULL_DISKS: Readonly<Record<string, Fault>> = {
  'the disk of a node is full': async (scene) => await oneNode(scene, async () => undefined),
  'a node is killed on a full disk': async (scene) => {
    const { cluster } = scene;
    await oneNode(scene, async (index) => {
      await cluster.node(index).kill();
      await cluster.run(index);
    });
  },
  'the disks of two of three nodes are full': twoNodes,
  'the disk of a NATS server is full': async (scene) => await servers(scene, [anyServer(scene)]),
  'the disk of the server that leads the stream is full': async (scene) => {
    await servers(scene, [await leaderOf(scene.cluster.servers)]);
  },
  'the disks of all NATS servers are full': async (scene) => await servers(scene, SERVERS),
};

/** The node says so, and writes through it, too, go on, as others have room. */
async function oneNode(scene: Scene, act: (index: number) => Promise<void>): Promise<void> {
  const { cluster, pauseMs } = scene;
  const index = anyNode(scene);
  const large = Array.from({ length: LARGE_POINTS }, newPoint);
  await withClients(scene, async (clients) => {
    await whileFull(disksOf(cluster.nodeDisks, [index]), async () => {
      for (const [at, point] of large.entries()) {
        const client = clients[at % clients.length];
        await client?.upsert([{ ...point, content: LARGE_CONTENT }], PATIENT);
      }
      const readiness = async () => await readinessOf(cluster.node(index));
      await expect.poll(readiness, PATIENCE).toContain(FULL);
      await act(index);
      await expectWrites(clients);
      await sleep(pauseMs);
    });
    const ids = large.map(({ id }) => id);
    expect(await clients[index]?.delete(ids, PATIENT)).toMatchObject({ deleted: ids.length });
  });
}

/** Inserts are refused and are nowhere, reads and deletes go on. */
async function twoNodes(scene: Scene): Promise<void> {
  const { cluster, pauseMs } = scene;
  const first = anyNode(scene);
  const disks = disksOf(cluster.nodeDisks, [first, otherReplica(first, 1)]);
  await withClients(scene, async (clients) => {
    const kept = clients.map(newPoint);
    await clients[first]?.upsert(kept, PATIENT);
    const refused: string[] = [];
    const ids = kept.map(({ id }) => id);
    await whileFull(
      disks,
      async () => {
        for (const client of clients) refused.push(await insertUntilRefused(client));
        for (const disk of disks) await disk.fill();
        for (const [at, client] of clients.entries()) {
          refused.push(await insertUntilRefused(client));
          expect(await client.delete(ids.slice(at, at + 1), PATIENT)).toMatchObject({ deleted: 1 });
          expect(await client.get(ids, PATIENT)).toMatchObject({ missing: ids.slice(0, at + 1) });
        }
        await sleep(pauseMs);
      },
      LITTLE_BYTES,
    );
    for (const client of clients) {
      expect(await client.get([...ids, ...refused], PATIENT)).toMatchObject({ points: [] });
    }
  });
}

/** Inserts points until one is refused. Answers its id, and deletes those that were stored. */
async function insertUntilRefused(client: Client): Promise<string> {
  const stored: string[] = [];
  let refused: string | undefined;
  await expect
    .poll(async () => {
      const point = newPoint();
      try {
        await client.upsert([point], ONCE);
        stored.push(point.id);
        return 'stored';
      } catch (error) {
        refused = point.id;
        return String(error);
      }
    }, PATIENCE)
    .toContain('full');
  if (stored.length > 0) await client.delete(stored, PATIENT);
  return refused ?? '';
}

/** A server whose disk is full turns JetStream off, until it is started again. */
async function servers(scene: Scene, indexes: readonly number[]): Promise<void> {
  const { cluster, pauseMs } = scene;
  const faults = async () => {
    const all = await cluster.servers.faults();
    return indexes.map((index) => all[index]);
  };
  await whileFull(disksOf(cluster.serverDisks, indexes), async () => {
    const off = indexes.map(() => expect.stringContaining('JetStream not enabled') as string);
    await expect.poll(faults, PATIENCE).toEqual(off);
    const isMinority = indexes.length < SERVERS.length / 2;
    await withClients(scene, isMinority ? expectWrites : expectNone);
    const status = async () => Object.values(await cluster.status()).join('');
    const told = isMinority ? silent(cluster.servers.names[indexes[0] ?? 0]) : NO_JETSTREAM;
    await expect.poll(status, PATIENCE).toContain(told);
    await sleep(pauseMs);
  });
  for (const index of indexes) {
    await cluster.servers.kill(index);
    cluster.servers.run(index);
  }
}

/** Writes go on through every client. */
async function expectWrites(clients: readonly Client[]): Promise<void> {
  for (const client of clients) await client.upsert([newPoint()], PATIENT);
}

/** No write is acknowledged, and reads go on. */
async function expectNone(clients: readonly Client[]): Promise<void> {
  await Promise.all(
    clients.map(async (client) => {
      const { id, vector } = newPoint();
      await expect(client.upsert([{ id, vector }], ONCE)).rejects.toMatchObject({
        code: expect.stringMatching(/^(?:UNAVAILABLE|TIMEOUT)$/) as string,
      });
      expect(await client.get([id], PATIENT)).toMatchObject({ missing: [id] });
    }),
  );
}

async function whileFull(
  disks: readonly SmallDisk[],
  act: () => Promise<void>,
  leftBytes = 0,
): Promise<void> {
  await Promise.all(disks.map(async (disk) => await disk.fill(leftBytes)));
  try {
    await act();
  } finally {
    await Promise.all(disks.map(async (disk) => await disk.empty()));
  }
}

function disksOf(disks: readonly SmallDisk[], indexes: readonly number[]): SmallDisk[] {
  return indexes.map((index) => disks[index] as SmallDisk);
}
