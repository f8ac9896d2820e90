import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Client } from '../../../src/client/node.js';
import { readinessOf } from '../../support/cluster.js';
import type { Direction } from '../../support/link.js';
import { segmentsOf } from '../../support/segments.js';
import type { TestServer } from '../../support/server.js';
import { flipBit } from './flip-bit.js';
import {
  anyNode,
  anyServer,
  newPoint,
  otherReplica,
  PATIENT,
  SERVERS,
  shardOf,
  type Fault,
  type Scene,
  withClients,
} from './scene.js';
import { SERVER_FLIPS } from './server-flips.js';
import { leaderOf } from './server-state.js';

/** What was killed stays away for up to this time. */
const LONGEST_AWAY_MS = 8_000;

/** A node starts, and fetches the points of the others, in about this time. */
const LONGEST_FETCH_MS = 2_000;

const CLOCK = new URL('../../support/wrong-clock.mjs', import.meta.url);
const CLOCK_OFF_MS = 5 * 60_000;

export const FAULTS: Readonly<Record<string, Fault>> = {
  'the server that leads the stream is killed': async (scene) => {
    await killServers(scene, [await leaderOf(scene.cluster.servers)]);
  },
  'a server is killed': async (scene) => await killServers(scene, [anyServer(scene)]),
  'a node is killed': async (scene) => await killNode(scene, anyNode(scene)),
  'a node is stopped': async (scene) => {
    const index = anyNode(scene);
    expect(await nodeOf(scene, index).stop()).toBe(0);
    await scene.cluster.run(index);
  },
  'a server and a node are killed': async (scene) => {
    await Promise.all([killServers(scene, [anyServer(scene)]), killNode(scene, anyNode(scene))]);
  },
  'two of three servers are killed': async (scene) => {
    const spared = anyServer(scene);
    const others = SERVERS.filter((index) => index !== spared);
    await killServers(scene, others);
  },
  'all servers are killed': async (scene) => await killServers(scene, SERVERS),
  'all nodes are killed': async (scene) => {
    const all = scene.cluster.nodes.keys();
    await Promise.all(Array.from(all, async (index) => await killNode(scene, index)));
  },
  'a server is paused': async (scene) => {
    const { servers } = scene.cluster;
    const index = anyServer(scene);
    await servers.suspend(index);
    await sleep(scene.pauseMs);
    servers.resume(index);
  },
  'a node is paused': async (scene) => {
    const { pid } = nodeOf(scene, anyNode(scene));
    process.kill(pid, 'SIGSTOP');
    await sleep(scene.pauseMs);
    process.kill(pid, 'SIGCONT');
  },
  'a node is cut off': async (scene) => await cut(scene, ['up', 'down']),
  'a node is not heard': async (scene) => await cut(scene, ['up']),
  'a node hears nothing': async (scene) => await cut(scene, ['down']),
  'the clock of a node is wrong': wrongClock,
  'a node loses its points': async (scene) => {
    const index = anyNode(scene);
    await loseFolder(scene, index);
    await scene.cluster.run(index);
  },
  'a node loses its points, and another is killed while it fetches them': async (scene) => {
    const { cluster, random } = scene;
    const index = anyNode(scene);
    await loseFolder(scene, index);
    const fetching = cluster.run(index);
    await sleep(random.below(LONGEST_FETCH_MS));
    await killNode(scene, otherReplica(index, random.pick([1, 2])));
    await fetching;
  },
  'a bit flips on the disk of a node': async (scene) => {
    const index = anyNode(scene);
    // Of several shards one may have got no point yet.
    const segments = () => segmentsOf(folderOf(scene, index));
    await expect.poll(segments, { timeout: 30_000 }).not.toEqual([]);
    await nodeOf(scene, index).kill();
    flipBit(scene.random, segments());
    await scene.cluster.run(index);
  },
  ...SERVER_FLIPS,
};

function nodeOf({ cluster }: Scene, index: number): TestServer {
  return cluster.node(index);
}

async function killServers({ cluster, random }: Scene, indexes: readonly number[]): Promise<void> {
  await Promise.all(indexes.map(async (index) => await cluster.servers.kill(index)));
  await sleep(random.below(LONGEST_AWAY_MS));
  for (const index of indexes) cluster.servers.run(index);
}

async function killNode(scene: Scene, index: number): Promise<void> {
  await nodeOf(scene, index).kill();
  await sleep(scene.random.below(LONGEST_AWAY_MS));
  await scene.cluster.run(index);
}

function folderOf(scene: Scene, index: number): string {
  return join(nodeOf(scene, index).dataPath, `shard-${shardOf(index)}`);
}

async function loseFolder(scene: Scene, index: number): Promise<void> {
  await nodeOf(scene, index).kill();
  rmSync(folderOf(scene, index), { recursive: true });
}

async function cut(scene: Scene, directions: readonly Direction[]): Promise<void> {
  const index = anyNode(scene);
  const links = scene.cluster.links[index] ?? [];
  for (const link of links) link.cut(...directions);
  await sleep(scene.pauseMs);
  expect(await readinessOf(nodeOf(scene, index))).toContain('no NATS server');
  for (const link of links) link.mend();
}

/**
 * Writes through the node are refused, and not stored; reads through it see what others have written. It
 * says that it is not ready.
 */
async function wrongClock(scene: Scene): Promise<void> {
  const { cluster, random } = scene;
  const index = anyNode(scene);
  expect(await nodeOf(scene, index).stop()).toBe(0);
  const off = random.pick([CLOCK_OFF_MS, -CLOCK_OFF_MS]);
  await cluster.run(index, {
    NODE_OPTIONS: `--import=${CLOCK.href}`,
    VECTORD_CLOCK_OFF_MS: String(off),
  });
  const isAhead = off > 0 ? 'ahead of' : 'behind';
  await expect
    .poll(async () => await readinessOf(nodeOf(scene, index)))
    .toMatch(new RegExp(`the clock of this node is (?:299|300|301) s ${isAhead} that of the NATS`));
  await withClients(scene, async (clients) => await expectLateWrites(clients, index));
  expect(await nodeOf(scene, index).stop()).toBe(0);
  await cluster.run(index);
}

/** The writes through one node are refused, and others see that they are not stored. */
async function expectLateWrites(clients: readonly Client[], index: number): Promise<void> {
  const wrong = clients[index] as Client;
  const right = clients[(index + 1) % clients.length] as Client;
  const points = [newPoint(), newPoint()];
  const [refused, kept] = points.map(({ id }) => id) as [string, string];
  await right.upsert(points.slice(1), PATIENT);
  const once = { ...PATIENT, retries: { attempts: 1 } };
  const writes = [
    async () => await wrong.upsert(points.slice(0, 1), once),
    async () => await wrong.delete([kept], once),
  ];
  for (const write of writes) {
    await expect(write()).rejects.toMatchObject({
      // One that had to be sent twice is not known to be nowhere.
      code: expect.stringMatching(/^(?:UNAVAILABLE|TIMEOUT)$/) as string,
      message: expect.stringContaining('came too late') as string,
    });
  }
  for (const client of clients) {
    const found = await client.get([refused, kept], PATIENT);
    expect(found).toMatchObject({ points: [{ id: kept }], missing: [refused] });
  }
}
