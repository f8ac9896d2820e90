import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { clientsOf, HAS_NO_NATS, TestCluster } from '../support/cluster.js';

const TIMEOUT_MS = 60_000;

describe.skipIf(HAS_NO_NATS)('a node without its replica (needs nats-server)', () => {
  test(
    'is refused until the replica is back, unless that was empty',
    async () => {
      const cluster = await TestCluster.start({}, { nodes: 1, servers: 1 });
      onTestFinished(async () => await cluster.end(), TIMEOUT_MS);
      await cluster.nodes[0]?.kill();
      await cluster.run(0);
      const [client] = clientsOf(cluster.nodes).map(({ v1 }) => v1);
      await client?.upsert([{ vector: [1, 2, 3, 4] }]);
      const { dataPath } = cluster.nodes[0] ?? { dataPath: '' };
      const [folder, kept] = [join(dataPath, 'shard-0'), join(dataPath, 'kept')];
      await cluster.nodes[0]?.stop();
      cpSync(folder, kept, { recursive: true });
      rmSync(folder, { recursive: true });
      await expect(cluster.run(0)).rejects.toThrow("is not the one of this node's replica");
      rmSync(folder, { recursive: true });
      cpSync(kept, folder, { recursive: true });
      await cluster.run(0);
      expect(await client?.count()).toBe(1);
    },
    TIMEOUT_MS,
  );
});
