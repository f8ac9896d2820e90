import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { subjects } from '../../src/cluster/nats/subjects.js';
import { clientsOf, contentOf, HAS_NO_NATS, readinessOf } from '../support/cluster.js';
import type { Servers } from '../support/nats-servers.mjs';
import { makeTemporaryFolder } from '../support/folders.js';
import { segmentsOf } from '../support/segments.js';
import { startServer } from '../support/server.js';
import {
  CLUSTER,
  CONTENT,
  expectWhole,
  openThreeNodes,
  POINTS,
  TAKEN,
  TIMEOUT_MS,
} from './seeds/three-nodes.js';

/** Longer than a node takes to start. */
const WAITS_MS = 8_000;
const PATIENCE = { timeout: 40_000, interval: 100 };

describe.skipIf(HAS_NO_NATS)('a replica that needs a log (needs nats-server)', () => {
  test(
    'waits while another replica is away: what is in that one alone might be missed',
    async () => {
      const opened = await openThreeNodes();
      const { cluster, folders } = opened;
      await cluster.nodes[1]?.stop();
      await cluster.nodes[2]?.stop();
      rmSync(folders[2] ?? '', { recursive: true });
      const starting = cluster.run(2);
      let isStarted = false;
      starting.then(
        () => (isStarted = true),
        () => undefined,
      );
      await sleep(WAITS_MS / 2);
      // Both at a time: a start that takes long is given up.
      const [{ stdout }] = await Promise.all([
        cluster.status([], { CLUSTER_NAME: CLUSTER }),
        sleep(WAITS_MS / 2),
      ]);
      expect(isStarted).toBe(false);
      expect(stdout).toMatch(/^node \S+ on \S+ starts: it fetches the points of another node: /m);
      await cluster.run(1);
      await starting;
      expect(cluster.nodes[2]?.log()).toContain('this node has no points yet: trying again');
      await expectWhole(opened, POINTS);
    },
    TIMEOUT_MS,
  );

  test(
    'takes that of another one where its own is damaged as it starts',
    async () => {
      const opened = await openThreeNodes();
      const { cluster, folders } = opened;
      await cluster.nodes[0]?.kill();
      damageHeaders(folders[0] ?? '');
      // Of somebody else, who has a copy of the points of their own.
      const others = `${folders[0]}.copy`;
      mkdirSync(join(others, 'of mine'), { recursive: true });
      await cluster.run(0);
      expect(cluster.nodes[0]?.log()).toMatch(/is damaged at byte.*gives up its points/s);
      expect(readdirSync(others)).toEqual(['of mine']);
      const inFolder = readdirSync(cluster.node(0).dataPath);
      expect(inFolder.filter((name) => name.includes('copy'))).toEqual(['shard-0.copy']);
      await expectWhole(opened, POINTS);
    },
    TIMEOUT_MS,
  );

  test(
    'takes that of another one where a record turns out to be damaged as it is read',
    async () => {
      const opened = await openThreeNodes();
      const { cluster, clients, folders } = opened;
      const [node, client] = [cluster.node(1), clients[1]];
      const found = await client?.search({
        vector: [7, 1, 2, 3],
        similarity: 'Euclidean',
        limit: 1,
      });
      const id = found?.[0]?.id ?? '';
      damage(folders[1] ?? '', `${CONTENT} 7`);
      // Another replica answers.
      expect((await client?.get([id]))?.points).toHaveLength(1);
      await expect.poll(() => node.log(), PATIENCE).toContain(TAKEN);
      await expect.poll(async () => await readinessOf(node), PATIENCE).toBe('ready');
      expect((await client?.get([id]))?.points[0]?.content).toBe(`${CONTENT} 7`);
      await expectWhole(opened, POINTS);
    },
    TIMEOUT_MS,
  );

  test(
    'takes that of another one where the stream has what it needs no longer',
    async () => {
      const opened = await openThreeNodes();
      const { cluster, clients } = opened;
      await cluster.nodes[0]?.stop();
      await clients[1]?.upsert([{ vector: [0, 0, 0, 0] }]);
      await clients[1]?.upsert([{ vector: [0, 0, 0, 1] }]);
      const nats = await connect({ servers: [...cluster.servers.addresses] });
      onTestFinished(async () => await nats.close());
      const manager = await jetstreamManager(nats);
      await manager.streams.purge(subjects.stream(CLUSTER, 0), { keep: 1 });
      await cluster.run(0);
      const log = () => cluster.nodes[0]?.log();
      await expect.poll(log, PATIENCE).toContain('the stream begins with message');
      await expect.poll(log, PATIENCE).toContain(TAKEN);
      await expect.poll(async () => await readinessOf(cluster.node(0)), PATIENCE).toBe('ready');
      await expectWhole(opened, POINTS + 2);
    },
    TIMEOUT_MS,
  );

  test(
    'takes none where the others lack what the stream has no longer, too',
    async () => {
      const { cluster } = await openThreeNodes();
      await Promise.all(cluster.nodes.map(async (node) => await node.stop()));
      const nats = await connect({ servers: [...cluster.servers.addresses] });
      onTestFinished(async () => await nats.close());
      for (const text of ['one', 'two']) {
        await jetstream(nats).publish(subjects.log(CLUSTER, 0), text);
      }
      const manager = await jetstreamManager(nats);
      await manager.streams.purge(subjects.stream(CLUSTER, 0), { keep: 1 });
      await Promise.all([0, 1, 2].map(async (index) => await cluster.run(index)));
      const logs = () => cluster.nodes.map((node) => node.log());
      await expect
        .poll(logs, PATIENCE)
        .toEqual(Array(3).fill(expect.stringContaining('no other node has more')));
      for (const log of logs()) expect(log).not.toContain('gives up its points');
    },
    TIMEOUT_MS,
  );

  test(
    'takes that of another one where it has another history than the others',
    async () => {
      const opened = await openThreeNodes();
      const { cluster, clients } = opened;
      const { servers } = cluster;
      await restart(servers, (index) => servers.save(index));
      // A write that one replica has alone, and that the stream loses.
      await cluster.nodes[1]?.stop();
      await cluster.nodes[2]?.stop();
      const alone = clients[0]?.upsert([{ vector: [5, 5, 5, 5] }], { deadlineMs: 2_000 });
      await expect(alone).rejects.toThrow('deadline');
      await cluster.nodes[0]?.stop();
      await restart(servers, (index) => servers.restore(index));
      await Promise.all([1, 2].map(async (index) => await cluster.run(index)));
      await clients[1]?.upsert([{ vector: [6, 6, 6, 6] }], { deadlineMs: 30_000 });
      await clients[2]?.upsert([{ vector: [6, 6, 6, 7] }], { deadlineMs: 30_000 });
      await cluster.run(0);
      const log = () => cluster.nodes[0]?.log();
      await expect.poll(log, PATIENCE).toContain('most replicas have another history');
      await expect.poll(log, PATIENCE).toContain(TAKEN);
      await expect.poll(async () => await readinessOf(cluster.node(0)), PATIENCE).toBe('ready');
      await expectWhole(opened, POINTS + 2);
    },
    TIMEOUT_MS,
  );

  test(
    'comes back in a new folder, by the id of the lost node, and the lost one counts no more',
    async () => {
      const opened = await openThreeNodes();
      const { cluster, clients } = opened;
      // The lost node is not lost: it stands still, and then goes on beside the one that takes its place.
      const lost = cluster.node(2);
      const { node: id } = contentOf(lost.dataPath);
      const fresh = join(makeTemporaryFolder(), 'data');
      const start = async (env: Record<string, string>) =>
        await startServer({
          env: { ...cluster.settings(2), HTTP_PORT: '0', GRPC_PORT: '0', ...env },
          dataPath: fresh,
        });
      await expect(start({})).rejects.toThrow(id);
      await expect(start({ CLUSTER_REPLACES: 'nobody' })).rejects.toThrow(
        'CLUSTER_REPLACES is nobody',
      );
      await expect(start({ CLUSTER_REPLACES: id })).rejects.toThrow(
        `CLUSTER_REPLACES is ${id}, but that node runs on ${hostname()} and answers`,
      );
      await expectWhole(opened, POINTS);
      process.kill(lost.pid, 'SIGSTOP');
      const replacing = await start({ CLUSTER_REPLACES: id });
      process.kill(lost.pid, 'SIGCONT');
      const those = clientsOf([replacing]).slice(0, 1);
      const sound = { ...opened, clients: [...clients.slice(0, 2), ...those.map(({ v1 }) => v1)] };
      await expectWhole(sound, POINTS + 3);
      await expect
        .poll(async () => await readinessOf(lost), PATIENCE)
        .toContain('the replica of this node has stopped');
      // The replicas of other nodes answer.
      expect(await clients[2]?.count()).toBe(POINTS + 6);
      expect(lost.log()).toContain('another node has the place');
      await expectWhole(sound, POINTS + 6);
      await lost.stop();
      await expect(cluster.run(2)).rejects.toThrow('a node that is not in the cluster');
      // The id is in the map no more.
      const again = { CLUSTER_REPLACES: id };
      const other = join(makeTemporaryFolder(), 'data');
      await expect(
        startServer({ env: { ...cluster.settings(2), ...again }, dataPath: other }),
      ).rejects.toThrow(`CLUSTER_REPLACES is ${id}`);
      // The setting does no harm to the node that has the place.
      await replacing.stop();
      await start(again);
      await expectWhole({ ...sound, clients: clients.slice(0, 2) }, POINTS + 9);
    },
    TIMEOUT_MS,
  );

  test(
    'learns in a new folder which other logs were lost before',
    async () => {
      const opened = await openThreeNodes();
      const { cluster, folders } = opened;
      const numbers = (at: number): number[] => contentOf(cluster.node(at).dataPath).incarnations;
      await cluster.nodes[2]?.stop();
      rmSync(folders[2] ?? '', { recursive: true });
      await cluster.run(2);
      const lost = cluster.node(1);
      const { node: id } = contentOf(lost.dataPath);
      await lost.stop();
      rmSync(lost.dataPath, { recursive: true });
      await cluster.run(1, { CLUSTER_REPLACES: id });
      expect(numbers(0)).toEqual(numbers(2));
      expect(numbers(1)).toEqual(numbers(2));
      expect(numbers(1).filter((number) => number > 0)).toHaveLength(2);
    },
    TIMEOUT_MS,
  );
});

/** Ends all servers, acts on the folder of each, and starts them again. */
async function restart(servers: Servers, act: (index: number) => void): Promise<void> {
  const all = servers.names.map((_, index) => index);
  await Promise.all(all.map(async (index) => await servers.kill(index)));
  all.forEach(act);
  for (const index of all) servers.run(index);
  await servers.ready();
}

/** Flips a bit where a text is in the log in a folder. */
function damage(folder: string, text: string): void {
  for (const path of segmentsOf(folder)) {
    const at = readFileSync(path).indexOf(text);
    if (at >= 0) return flip(path, at);
  }
  throw new Error(`no log has the text ${text}`);
}

/** Flips a bit in the header of every segment: a kill may leave a file that the log no longer uses. */
function damageHeaders(folder: string): void {
  for (const path of segmentsOf(folder)) flip(path, 9);
}

function flip(path: string, at: number): void {
  const byte = readFileSync(path)[at] ?? 0;
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.of(byte ^ 1), 0, 1, at);
  closeSync(file);
}
