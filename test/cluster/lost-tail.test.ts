import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { describe, expect, onTestFinished, test } from 'vitest';
import { subjects } from '../../src/cluster/nats/subjects.js';
import { clientsOf, HAS_NO_NATS, TestCluster } from '../support/cluster.js';

const TIMEOUT_MS = 60_000;
const PATIENCE = { timeout: 20_000, interval: 100 };
const CLUSTER = 'lost-tail';
const POINT = {
  id: '0190a2b4-5f2e-7c31-9a6d-2f1e8b7c4d5a',
  vector: [1, 2, 3, 4],
  content: 'stored and deleted',
};

describe.skipIf(HAS_NO_NATS)('a stream that has lost its end (needs nats-server)', () => {
  test(
    'is not followed, though a copy has the sequence of the last message',
    { timeout: TIMEOUT_MS },
    async () => {
      const cluster = await TestCluster.start({ CLUSTER_NAME: CLUSTER }, { nodes: 1, servers: 1 });
      onTestFinished(async () => await cluster.end());
      const { servers, nodes } = cluster;
      const [client] = clientsOf(nodes).map(({ v1 }) => v1);
      await client?.upsert([{ vector: [0, 0, 0, 0], content: 'base' }]);
      await servers.kill(0);
      servers.save(0);
      servers.run(0);
      await servers.ready();
      await client?.upsert([POINT], { deadlineMs: 30_000 });
      await client?.delete([POINT.id]);

      const open = async () => {
        const nats = await connect({ servers: [...servers.addresses] });
        onTestFinished(async () => await nats.close());
        return nats;
      };
      const manager = await jetstreamManager(await open());
      const [base, stored, deleted] = await Promise.all(
        [1, 2, 3].map(async (seq) => {
          const message = await manager.streams.getMessage(subjects.stream(CLUSTER, 0), { seq });
          return message?.data ?? new Uint8Array();
        }),
      );
      await servers.kill(0);
      servers.restore(0);
      servers.run(0);
      await servers.ready();
      const streams = jetstream(await open());
      // Another message, and copies of two that were under way: the last one would undo the delete.
      for (const [sequence, bytes] of [
        [2, base],
        [3, deleted],
        [4, stored],
      ] as const) {
        const { seq } = await streams.publish(subjects.log(CLUSTER, 0), bytes);
        expect(seq).toBe(sequence);
      }
      const readiness = async () => await (await fetch(`${nodes[0]?.http}/ready`)).text();
      await expect.poll(readiness, PATIENCE).toContain('not where its stream is');
      expect(nodes[0]?.log()).toContain('message 3 of the stream is another one');
      expect(await client?.count()).toBe(1);
    },
  );
});
