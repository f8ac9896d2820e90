import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Questions } from '../../src/cluster/voting/questions.js';
import { subjects } from '../../src/cluster/nats/subjects.js';
import { Trim } from '../../src/cluster/replica/trim.js';
import { clientsOf, HAS_NO_NATS, TestCluster } from '../support/cluster.js';
import { openEngine, openShard, ownNatsServer, SHARD, SILENT } from '../support/replicas.js';

const MIB = 1024 * 1024;
const TIMEOUT_MS = 180_000;
/** So old has to be what is dropped once all replicas have everything. */
const PARTS_MS = 60_000;
const PATIENCE = { timeout: 40_000, interval: 500 };

describe.skipIf(HAS_NO_NATS)('the stream of a cluster (needs nats-server)', () => {
  test(
    'is trimmed once all replicas have what it holds, and not while one is away',
    async () => {
      const cluster = await TestCluster.start({
        MAX_REQUEST_BYTES: String(MIB),
        CLUSTER_LOG_BYTES: String(16 * MIB),
      });
      onTestFinished(async () => await cluster.end(), TIMEOUT_MS);
      const connection = await connect({ servers: [...cluster.servers.addresses] });
      onTestFinished(async () => await connection.close());
      const manager = await jetstreamManager(connection);
      const first = async () => (await manager.streams.info('vectord-0')).state.first_seq;
      const [client] = clientsOf(cluster.nodes).map(({ v1 }) => v1);
      const content = 'x'.repeat(MIB / 2);
      const fill = async () => {
        for (let at = 0; at < 18; at += 1) {
          await client?.upsert([{ vector: [at, 1, 1, 1], content }]);
        }
      };

      await cluster.nodes[2]?.kill();
      await fill();
      const filledAtMs = performance.now();
      // Each node looks every ten seconds.
      await new Promise((resolve) => setTimeout(resolve, 15_000));
      expect(await first()).toBe(1);
      await cluster.run(2);
      await new Promise((resolve) => {
        setTimeout(resolve, filledAtMs + PARTS_MS - 5_000 - performance.now());
      });
      expect(await first()).toBe(1);
      // No other write has to come: one that is refused as the stream is full would wait for ever.
      await expect.poll(first, PATIENCE).toBeGreaterThan(5);
      await fill();
      expect(await client?.count()).toBe(36);
    },
    TIMEOUT_MS,
  );

  describe('of which a replica is slow', () => {
    const servers = ownNatsServer();

    test.each([
      ['is trimmed no further than that replica is', 40, { from: 4, to: 4 }],
      ['is trimmed beyond that replica once it is three quarters full', 52, { from: 15, to: 25 }],
    ])(
      '%s',
      async (_, messages, { from, to }) => {
        const { nats, gateway, replicas, cluster, stream } = await openShard(servers());
        const engine = await openEngine();
        for (let sequence = 1; sequence <= messages; sequence += 1) {
          await nats.streams.publish(subjects.log(cluster, SHARD), new Uint8Array(MIB - 1024));
          await engine.apply(new Uint8Array(), sequence);
        }
        replicas.onQuestion = ({ number }) => {
          for (const [replica, sequence] of [messages, 3].entries()) {
            const position = { sequence: BigInt(sequence), chain: 0 };
            replicas.tell(gateway.id, replica + 1, { answer: { number, position } });
          }
        };
        const trim = new Trim(nats, engine, stream, new Questions(gateway, 2, 0), 3, SILENT, 0);
        onTestFinished(() => trim.close());
        const manager = await nats.manager();
        const first = async () => (await manager.streams.info(stream)).state.first_seq;
        await expect.poll(first, PATIENCE).toBeGreaterThan(1);
        expect(await first()).toBeGreaterThanOrEqual(from);
        expect(await first()).toBeLessThanOrEqual(to);
      },
      TIMEOUT_MS,
    );
  });
});
