import { connect } from '@nats-io/transport-node';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { clientsOf, HAS_NO_NATS, readinessOf, TestCluster } from '../support/cluster.js';
import { Random } from '../support/random.js';

const TIMEOUT_MS = 120_000;
const PATIENCE = { timeout: 30_000, interval: 100 };
const MESSAGES = 3_000;
const AT_ONCE = 50;
const JSON_TEXT = Buffer.from('{"stray":true,"items":[1,2,3]}');

describe.skipIf(HAS_NO_NATS)('messages that no node has sent (need nats-server)', () => {
  test(
    'on all subjects of a cluster, whose bits are flipped, or that are cut or doubled, do no harm',
    async () => {
      const cluster = await TestCluster.start();
      onTestFinished(async () => await cluster.end(), TIMEOUT_MS);
      const nats = await connect({ servers: [...cluster.servers.addresses] });
      onTestFinished(async () => await nats.close());
      const seen: { readonly subject: string; readonly data: Uint8Array }[] = [];
      const watching = nats.subscribe('vectord.>', {
        callback: (_, { subject, data }) => void seen.push({ subject, data }),
      });
      await nats.flush();
      const clients = clientsOf(cluster.nodes).map(({ v1 }) => v1);
      let points = 0;
      const write = async (size: number): Promise<void> => {
        for (const client of clients) {
          await client.upsert([{ vector: [points, 1, 2, 3], content: 'x'.repeat(size) }], {
            deadlineMs: 30_000,
          });
          points += 1;
        }
        for (const client of clients) expect(await client.count()).toBe(points);
      };
      await write(10);
      // One that needs the points of another says so, and asks for them.
      const node = cluster.node(2);
      await node.stop();
      rmSync(join(node.dataPath, 'shard-0'), { recursive: true });
      await cluster.run(2);
      await write(200_000);
      await cluster.status();
      watching.unsubscribe();

      const random = new Random(51);
      // As many of each kind of subject as of any other.
      const kinds = new Map<string, (typeof seen)[number][]>();
      for (const message of seen) {
        const kind = message.subject.replace(/[0-9a-f-]{16,}/, 'ID');
        kinds.set(kind, [...(kinds.get(kind) ?? []), message]);
      }
      for (const part of ['.log', '.questions', '.gateway.', '.lost.', '.seeds.', '.node.'])
        expect([...kinds.keys()].join()).toContain(part);
      for (let sent = 0; sent < MESSAGES; sent += 1) {
        const { subject, data } = random.pick(random.pick([...kinds.values()]));
        nats.publish(subject, spoiled(data, random));
        if (sent % AT_ONCE === 0) await nats.flush();
      }
      await nats.flush();

      for (const server of cluster.nodes) {
        await expect.poll(async () => await readinessOf(server), PATIENCE).toBe('ready');
        expect(server.log()).not.toContain('has stopped');
        expect(server.log()).not.toContain('gives up its points: most');
      }
      await write(10);
      await expect.poll(async () => (await cluster.status()).stdout, PATIENCE).toContain('STRAY');
    },
    TIMEOUT_MS,
  );
});

/** A message as a bad line or a bad client may make it. */
function spoiled(bytes: Uint8Array, random: Random): Uint8Array {
  const way = random.below(8);
  if (way === 0) return JSON_TEXT;
  if (way === 1) return bytes.subarray(0, random.below(bytes.length));
  if (way === 2) return Buffer.concat([bytes, bytes]);
  const copy = Uint8Array.from(bytes);
  const bit = random.below(8 * bytes.length);
  if (bytes.length > 0) copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}
