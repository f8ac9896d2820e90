import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HAS_NO_NATS, readinessOf, TestCluster } from '../support/cluster.js';
import { openClients } from '../support/clients.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { Random } from '../support/random.js';
import { startServer, type TestServer } from '../support/server.js';
import { expectLedger } from '../recovery/check.js';
import { runCommand } from '../recovery/command.js';
import { Ledger } from '../recovery/ledger.js';
import { DIMENSION, Load } from '../recovery/load.js';
import { fileOf, run } from '../transfer/command.js';

const TIMEOUT_MS = 180_000;
const PATIENCE = { timeout: 60_000, interval: 200 };
const SETTINGS = { DIMENSION: String(DIMENSION) };
const SERVERS = [0, 1, 2];

/** Before a node goes, and from then on. */
const WRITES = 500;

describe.skipIf(HAS_NO_NATS)('NATS servers that lose all folders (needs nats-server)', () => {
  test(
    'take no acknowledged write with them: the backup of the node that is furthest makes a new cluster',
    { timeout: TIMEOUT_MS },
    async () => {
      const cluster = await TestCluster.start(SETTINGS);
      const { servers, nodes } = cluster;
      onTestFinished(async () => await servers.end());
      const [behind, ...others] = nodes as [TestServer, TestServer, TestServer];
      const ledger = new Ledger();
      await loseStreamsUnderLoad(cluster, behind, others, ledger);

      for (const node of others) {
        const readiness = async () => await readinessOf(node);
        await expect.poll(readiness, PATIENCE).toContain('is not where its stream is');
        expect(node.log()).toContain('stream not found');
      }
      expect((await cluster.status()).stderr).toContain('know no cluster');
      await expect(cluster.run(0)).rejects.toThrow('is that of a node that is not in the cluster');

      const backups = await Promise.all(nodes.map(backupOf));
      const sequences = backups.map(({ sequence }) => sequence);
      const furthest = sequences.indexOf(Math.max(...sequences));
      expect(nodes[furthest]).not.toBe(behind);
      const path = await exportOf(backups[furthest]?.folder ?? '');
      await Promise.all(others.map(async (node) => await node.stop()));
      await servers.end();

      const made = await TestCluster.start({ ...SETTINGS, CLUSTER_NAME: 'made-anew' });
      onTestFinished(async () => await made.end());
      const [first] = made.nodes as [TestServer];
      expect(await run(first, 'import', path)).toMatchObject({ code: 0 });
      const clients = openClients(first);
      onTestFinished(() => clients.forEach((client) => client.close()));
      await expectLedger(clients, ledger);
    },
  );
});

/** Empties all servers while two nodes take writes, and one is away and lacks some. */
async function loseStreamsUnderLoad(
  { servers }: TestCluster,
  behind: TestServer,
  others: readonly TestServer[],
  ledger: Ledger,
): Promise<void> {
  const clients = others.flatMap((node) => openClients(node));
  const load = new Load(clients, ledger, new Random(27));
  await load.reaches(WRITES);
  await behind.kill();
  await load.reaches(2 * WRITES);
  const ended = load.end();
  await Promise.all(SERVERS.map(async (index) => await servers.kill(index)));
  for (const index of SERVERS) servers.wipe(index);
  for (const index of SERVERS) servers.run(index);
  await servers.ready();
  await ended;
  for (const client of clients) client.close();
}

/** A backup of the points of a node, which may run or not, and how far it goes. */
async function backupOf({ dataPath }: TestServer): Promise<{ folder: string; sequence: number }> {
  const folder = join(makeTemporaryFolder(), 'backup');
  const { code, stdout } = await runCommand(join(dataPath, 'shard-0'), 'backup', folder);
  expect(code).toBe(0);
  const [, sequence] = /up to sequence (\d+)/.exec(stdout) ?? [];
  return { folder, sequence: Number(sequence) };
}

/** A file with the points of a backup, which a single server exports. */
async function exportOf(backup: string): Promise<string> {
  const dataPath = join(makeTemporaryFolder(), 'restored');
  expect(await runCommand(dataPath, 'restore', backup)).toMatchObject({ code: 0 });
  const single = await startServer({ dataPath, dimension: DIMENSION });
  const path = fileOf('points.jsonl');
  expect(await run(single, 'export', path)).toMatchObject({ code: 0 });
  await single.stop();
  return path;
}
