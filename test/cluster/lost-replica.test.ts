import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { clientsOf, contentOf, HAS_NO_NATS, TestCluster } from '../support/cluster.js';
import { startServer } from '../support/server.js';
import { expectWhole, openThreeNodes, POINTS, TAKEN, TIMEOUT_MS } from './seeds/three-nodes.js';

describe.skipIf(HAS_NO_NATS)('a replica whose folder is gone (needs nats-server)', () => {
  test(
    'takes the log of another one, while the others go on',
    async () => {
      const opened = await openThreeNodes();
      const { cluster, clients, folders } = opened;
      await cluster.nodes[2]?.kill();
      rmSync(folders[2] ?? '', { recursive: true });
      await clients[0]?.upsert([{ vector: [0, 0, 0, 0], content: 'meanwhile' }]);
      await cluster.run(2);
      expect(cluster.nodes[2]?.log()).toContain(TAKEN);
      await expectWhole(opened, POINTS + 1);
      // Once more: its number is another one.
      await cluster.nodes[2]?.stop();
      rmSync(folders[2] ?? '', { recursive: true });
      await cluster.run(2);
      await expectWhole(opened, POINTS + 4);
      const files = cluster.nodes.map(({ dataPath }) => contentOf(dataPath));
      for (const { incarnations } of files) {
        expect(incarnations).toEqual(files[2]?.incarnations);
        expect(Math.max(...incarnations)).toBe(2);
      }
      for (const { dataPath } of cluster.nodes) {
        expect(readdirSync(dataPath).filter((name) => /copy/.test(name))).toEqual([]);
      }
    },
    TIMEOUT_MS,
  );

  test(
    'is refused where no other node has one, or the folder is that of another store',
    async () => {
      const cluster = await TestCluster.start({}, { nodes: 1, servers: 1 });
      onTestFinished(async () => await cluster.end(), TIMEOUT_MS);
      // Nothing is lost before the first message.
      await cluster.nodes[0]?.kill();
      await cluster.run(0);
      const [client] = clientsOf(cluster.nodes).map(({ v1 }) => v1);
      await client?.upsert([{ vector: [1, 2, 3, 4] }]);
      const { dataPath } = cluster.nodes[0] ?? { dataPath: '' };
      const [folder, kept] = [join(dataPath, 'shard-0'), join(dataPath, 'kept')];
      await cluster.nodes[0]?.stop();
      cpSync(folder, kept, { recursive: true });
      rmSync(folder, { recursive: true });
      await expect(cluster.run(0)).rejects.toThrow('no other node has one');
      const other = await startServer();
      await clientsOf([other])[0]?.v1.upsert([{ vector: [1, 2, 3, 4] }]);
      await other.stop();
      cpSync(other.dataPath, folder, { recursive: true });
      await expect(cluster.run(0)).rejects.toThrow("is not the one of this node's replica");
      rmSync(folder, { recursive: true });
      cpSync(kept, folder, { recursive: true });
      await cluster.run(0);
      expect(await client?.count()).toBe(1);
      await cluster.nodes[0]?.stop();
      const { node: id } = contentOf(dataPath);
      await expect(
        startServer({ env: { ...cluster.settings(0), CLUSTER_REPLACES: id } }),
      ).rejects.toThrow('no other node has one');
    },
    TIMEOUT_MS,
  );
});
