import { connect } from '@nats-io/transport-node';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { clientsOf, HAS_NO_NATS, readinessOf, TestCluster } from '../support/cluster.js';
import type { Servers } from '../support/nats-servers.mjs';
import { lastMessages, leaderOf, lostMessages } from './faults/server-state.js';

const TIMEOUT_MS = 150_000;
const PATIENCE = { timeout: 40_000, interval: 200 };
const STREAM = 'vectord-0';
const MAP = 'KV_vectord';

/** More than a file of messages takes, and what Raft keeps of them besides. */
const BATCHES = 30;
const CONTENT_BYTES = 600_000;

describe.skipIf(HAS_NO_NATS)(
  'a NATS server with a damaged file (needs nats-server)',
  { timeout: TIMEOUT_MS },
  () => {
    async function start(): Promise<TestCluster> {
      const cluster = await TestCluster.start();
      onTestFinished(async () => await cluster.end(), TIMEOUT_MS);
      return cluster;
    }

    test('that lacks messages for good is named, read past and replaced', async () => {
      const cluster = await start();
      const { servers } = cluster;
      const [client] = clientsOf(cluster.nodes.slice(1)).map(({ v1 }) => v1);
      await cluster.node(0).stop();
      for (let at = 0; at < BATCHES; at += 1) {
        // Raft compresses what it can.
        const content = randomBytes(CONTENT_BYTES).toString('base64');
        await client?.upsert([{ vector: [at, 0, 0, 1], content }]);
      }
      // What a server still waits for is not in its file to be damaged.
      const lasts = async () => new Set(await lastMessages(servers)).size;
      await expect.poll(lasts, PATIENCE).toBe(1);
      const damaged = ((await leaderOf(servers)) + 1) % servers.names.length;
      await servers.kill(damaged);
      // It begins with the second message of the stream.
      damage(servers, damaged, STREAM, 2 * CONTENT_BYTES);
      // Else the file would be read when a message of it is.
      rmSync(join(folderOf(servers, damaged, STREAM), 'index.db'), { force: true });
      servers.run(damaged);
      await servers.ready(PATIENCE.timeout);
      expect(await lostMessages(servers, damaged)).toBeGreaterThan(0);

      await lead(servers, damaged);
      const { stdout } = await cluster.status();
      const name = servers.names[damaged];
      expect(stdout).toMatch(RegExp(`NATS server ${name} has lost \\d+ messages of .*${STREAM}`));
      const node = await cluster.run(0);
      await expect.poll(async () => await readinessOf(node), PATIENCE).toBe('ready');
      await client?.upsert([{ vector: [0, 0, 0, 2] }], { deadlineMs: 30_000 });
      expect(node.log()).not.toContain('gives up its points');

      await replace(servers, damaged);
      await lead(servers, damaged);
      await expect.poll(async () => (await cluster.status()).code, PATIENCE).toBe(0);
      expect(await client?.count({ deadlineMs: 30_000 })).toBe(BATCHES + 1);
    });

    test('that cannot read the map is told by the status, hinders no node, and is replaced', async () => {
      const cluster = await start();
      const { servers, nodes } = cluster;
      const [client] = clientsOf(nodes.slice(0, 1)).map(({ v1 }) => v1);
      await client?.upsert([{ vector: [1, 2, 3, 4] }]);
      await cluster.node(2).stop();
      const damaged = await leaderOf(servers, MAP);
      // It notes what it has, and trusts that when it starts.
      await servers.kill(damaged, 'SIGTERM');
      damage(servers, damaged, MAP, -100);
      servers.run(damaged);
      await servers.ready(PATIENCE.timeout);
      await lead(servers, damaged, MAP);
      const CLUSTER_URL = `nats://${servers.addresses[damaged]}`;
      const { code, stderr } = await cluster.status([], { CLUSTER_URL });
      expect(stderr).toContain('the map of the cluster (bucket vectord) is there, but');
      expect(code).toBe(1);
      // It asks until another server answers.
      const node = await cluster.run(2, { CLUSTER_URL });
      await expect.poll(async () => await readinessOf(node), PATIENCE).toBe('ready');
      await replace(servers, damaged);
      await expect.poll(async () => (await cluster.status()).code, PATIENCE).toBe(0);
    });
  },
);

function folderOf(servers: Servers, index: number, stream: string): string {
  return join(servers.folder(index), 'jetstream', '$G', 'streams', stream, 'msgs');
}

/** Flips a bit in the first file of a stream; at a negative place in its last message. */
function damage(servers: Servers, index: number, stream: string, at: number): void {
  const folder = folderOf(servers, index, stream);
  const name = readdirSync(folder).find((entry) => entry.endsWith('.blk')) ?? '';
  const bytes = readFileSync(join(folder, name));
  const place = at < 0 ? bytes.length + at : at;
  bytes[place] = (bytes[place] ?? 0) ^ 1;
  writeFileSync(join(folder, name), bytes);
}

/** What the runbook says. */
async function replace(servers: Servers, index: number): Promise<void> {
  await servers.kill(index);
  servers.wipe(index);
  servers.run(index);
  await servers.ready(PATIENCE.timeout);
}

/** Makes a server the leader of a stream. */
async function lead(servers: Servers, index: number, stream = STREAM): Promise<void> {
  const nats = await connect({ servers: [...servers.addresses] });
  const wish = JSON.stringify({ placement: { preferred: servers.names[index] } });
  const leader = async () => {
    const subject = `$JS.API.STREAM.LEADER.STEPDOWN.${stream}`;
    await nats.request(subject, wish, { timeout: 2_000 }).catch(() => undefined);
    return await leaderOf(servers, stream);
  };
  await expect.poll(leader, { ...PATIENCE, interval: 1_000 }).toBe(index);
  await nats.close();
}
