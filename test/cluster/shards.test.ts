import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ClusterStatus } from '../../src/cluster/status/model.js';
import { Scrape } from '../observe/exposition.js';
import { clientsOf, contentOf, HAS_NO_NATS, TestCluster } from '../support/cluster.js';
import { startServer, type TestServer } from '../support/server.js';
import { TAKEN, TIMEOUT_MS } from './seeds/three-nodes.js';

const NEW = [{ vector: [5, 5, 5, 5], content: 'new' }];
const POLL = { timeout: 20_000 };

/** The shards that a node has a folder of. */
function foldersOf({ dataPath }: TestServer): number[] {
  return [0, 1, 2].filter((shard) => existsSync(join(dataPath, `shard-${shard}`)));
}

describe.skipIf(HAS_NO_NATS)('two shards of a node each (needs nats-server)', () => {
  let cluster: TestCluster;

  beforeAll(async () => {
    cluster = await TestCluster.start({ METRICS_OPEN: 'on' }, { shards: 2, nodes: 1, servers: 1 });
  }, TIMEOUT_MS);
  afterAll(async () => await cluster.end(), TIMEOUT_MS);

  /** Starts a node on a new folder, with the settings of the others but for these and the shard. */
  async function start(more: Readonly<Record<string, string>>): Promise<TestServer> {
    const { CLUSTER_SHARD: _, ...settings } = cluster.settings(0);
    return await startServer({ env: { ...settings, HTTP_PORT: '0', GRPC_PORT: '0', ...more } });
  }

  test('have a replica of one of them on each node, at the next start, too', async () => {
    const places = () => cluster.nodes.map(foldersOf);
    expect(places()).toEqual([[0], [1]]);
    await cluster.node(1).stop();
    await cluster.run(1);
    expect(places()).toEqual([[0], [1]]);
  });

  test('are told apart in the metrics of their nodes', async () => {
    for (const [shard, { http }] of cluster.nodes.entries()) {
      const scrape = new Scrape(await (await fetch(`${http}/metrics`)).text());
      expect(scrape.value('vectord_cluster_applied_sequence', { shard: String(shard) })).toBe(0);
    }
  });

  test('are told apart by the status, and what is wrong with one of them', async () => {
    const [first, second] = cluster.nodes.map(({ dataPath }) => contentOf(dataPath).node);
    const well = await cluster.status();
    expect(well.code).toBe(0);
    expect(well.stdout).toContain('vectord: dimension 4, 2 shards, each with 1 replica\n');
    for (const [shard, node] of [first, second].entries()) {
      expect(well.stdout).toMatch(
        new RegExp(`^shard ${shard}  vectord-${shard}: 0 messages, `, 'm'),
      );
      expect(well.stdout).toMatch(
        new RegExp(`^${node}  yes  +unknown  +has space  +${shard}  +0  +0  +0  +0$`, 'm'),
      );
    }
    await cluster.node(1).stop();
    const { code, stdout } = await cluster.status(['--json']);
    expect(code).toBe(1);
    const { shards, problems } = JSON.parse(stdout) as ClusterStatus & { problems: string[] };
    expect(problems).toEqual([
      expect.stringContaining(`node ${second} of shard 1 does not answer`),
      expect.stringContaining('only 0 of 1 nodes of shard 1 answer'),
    ]);
    expect(shards).toMatchObject([
      { shard: 0, stream: { name: 'vectord-0' }, nodes: [{ node: first, replica: 0 }] },
      { shard: 1, stream: { name: 'vectord-1' }, nodes: [{ node: second, replica: 0 }] },
    ]);
    await cluster.run(1);
  });

  test('take no third node, and say which there are', async () => {
    const [first, second] = cluster.nodes.map(({ dataPath }) => contentOf(dataPath).node);
    await expect(start({})).rejects.toThrow(
      `the cluster vectord has its 2 nodes, and this one is none of them`,
    );
    await expect(start({ CLUSTER_REPLACES: 'nobody' })).rejects.toThrow(
      `one of ${first} (shard 0); ${second} (shard 1)`,
    );
    await expect(start({ CLUSTER_REPLACES: second ?? '' })).rejects.toThrow(
      `CLUSTER_REPLACES is ${second}, but that node runs on`,
    );
  });

  test('refuse a node that expects another number, or is in the other one', async () => {
    await cluster.node(1).stop();
    const run = async (env: Record<string, string>) => await cluster.run(1, env);
    await expect(run({ CLUSTER_SHARDS: '3' })).rejects.toThrow(
      'CLUSTER_SHARDS is 3, but the cluster vectord was made with 2: set it to 2',
    );
    await expect(run({ CLUSTER_SHARD: '0' })).rejects.toThrow(
      'CLUSTER_SHARD is 0, but this node is in shard 1 of the cluster vectord',
    );
    const { node: second } = contentOf(cluster.node(1).dataPath);
    await expect(start({ CLUSTER_REPLACES: second, CLUSTER_SHARD: '0' })).rejects.toThrow(
      'CLUSTER_SHARD is 0, but the node of CLUSTER_REPLACES is in shard 1',
    );
    await run({});
  });

  test('refuse a second node of the first while they wait for one of the second', async () => {
    const settings = { CLUSTER_NAME: 'other', CLUSTER_SHARD: '0' };
    const first = [start(settings), start(settings)];
    await expect(Promise.all(first)).rejects.toThrow(
      'CLUSTER_SHARD is 0, but shard 0 of the cluster other has its 1 nodes',
    );
    const second = await start({ ...settings, CLUSTER_SHARD: '1' });
    expect([await Promise.any(first), second].map(foldersOf)).toEqual([[0], [1]]);
  });

  test('get a node each where none is set to one, whichever comes first', async () => {
    const settings = { CLUSTER_NAME: 'unset' };
    const nodes = await Promise.all([start(settings), start(settings)]);
    expect(nodes.flatMap(foldersOf).toSorted()).toEqual([0, 1]);
  });
});

describe.skipIf(HAS_NO_NATS)('two shards of two nodes each (needs nats-server)', () => {
  test(
    'give a lost node of the second its place on a new folder',
    async () => {
      const cluster = await TestCluster.start({}, { shards: 2, nodes: 2 });
      onTestFinished(async () => await cluster.end(), TIMEOUT_MS);
      expect(cluster.nodes.map(foldersOf)).toEqual([[0], [0], [1], [1]]);
      for (const { v1 } of clientsOf(cluster.nodes)) await v1.upsert(NEW);
      const lost = cluster.node(3);
      await lost.stop();
      const replacing = { CLUSTER_REPLACES: contentOf(lost.dataPath).node };
      const { CLUSTER_SHARD: _, ...settings } = cluster.settings(3);
      const node = await startServer({ env: { ...settings, ...replacing } });
      onTestFinished(async () => void (await node.stop()));
      expect(foldersOf(node)).toEqual([1]);
      expect(node.log()).toContain(TAKEN);
      const ready = async () => (await fetch(`${node.http}/ready`)).status;
      await expect.poll(ready, POLL).toBe(200);
    },
    TIMEOUT_MS,
  );
});
