import { hostname } from 'node:os';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Scrape } from '../observe/exposition.js';
import { contentOf, readinessOf, TestCluster } from '../support/cluster.js';
import { canMount, type SmallDisk } from '../support/small-disk.js';
import { FULL_DISKS } from './faults/full-disks.js';
import { LACKS_TOOLS, testUnderLoad } from './faults/under-load.js';

/** A node reports less than 256 MiB as a full disk. */
const DISKS = { node: 320 << 20, server: 256 << 20 };
const LITTLE_BYTES = 200 << 20;
const PATIENCE = { timeout: 20_000, interval: 100 };
/** Small, so that nodes begin files of the log on full disks as well. */
const SETTINGS = { SEGMENT_BYTES: String(128 << 10) };

/** What a node says once where compaction finds no space. */
const EXPECTED_ERRORS = ['no snapshot, or no space given back: trying again'];

const NEEDS = '(needs nats-server, porcupine and Linux that lets its users mount a disk)';

describe.skipIf(LACKS_TOOLS || !canMount())(`a cluster on small disks under load ${NEEDS}`, () => {
  testUnderLoad(
    FULL_DISKS,
    async (shards) => await TestCluster.start(SETTINGS, { shards, disks: DISKS }),
    EXPECTED_ERRORS,
  );

  test('a node tells that its disk is full, and no longer', { timeout: 60_000 }, async () => {
    const env = { ...SETTINGS, METRICS_OPEN: 'on' };
    const cluster = await TestCluster.start(env, { nodes: 1, servers: 1, disks: DISKS });
    onTestFinished(async () => await cluster.end());
    const [node, [disk]] = [cluster.node(0), cluster.nodeDisks as [SmallDisk]];
    const fault = async () => {
      const scrape = new Scrape(await (await fetch(`${node.http}/metrics`)).text());
      return scrape.value('vectord_fault', { kind: 'full' });
    };
    expect(await readinessOf(node)).toBe('ready');
    expect(await fault()).toBe(0);
    await disk.fill(LITTLE_BYTES);
    const readiness = async () => await readinessOf(node);
    await expect.poll(readiness, PATIENCE).toMatch(/^less than 256 MiB are left on the disk/);
    expect(await fault()).toBe(1);
    expect(node.log()).toContain('the disk is nearly full: free some space');
    const { node: id } = contentOf(disk.path(''));
    const { stdout } = await cluster.status();
    expect(stdout).toContain(
      `the disk of node ${id} on ${hostname()} is full: free some space on it`,
    );
    await disk.empty();
    await expect.poll(readiness, PATIENCE).toBe('ready');
    expect(await fault()).toBe(0);
    expect((await cluster.status()).stdout).toMatch(/\nall is well\n$/);
  });
});
