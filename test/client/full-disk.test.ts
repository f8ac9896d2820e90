import { mkdirSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Scrape } from '../observe/exposition.js';
import type { TestServer } from '../support/server.js';
import { canMount, SmallDisk } from '../support/small-disk.js';
import { ownFolder, Vectord } from '../support/vectord.js';
import { expectFailure, open, PROTOCOLS } from './open.js';

const needs = '(needs Linux that lets its users mount a disk)';
describe.skipIf(!canMount())(`a full disk ${needs}`, () => {
  test.each(PROTOCOLS)('is STORAGE_FULL over %s, and reads go on', async (protocol) => {
    const { dataPath, environment } = ownFolder();
    mkdirSync(dataPath);
    const disk = await SmallDisk.mount(dataPath, 4 << 20);
    onTestFinished(() => disk.release());
    const settings = {
      SEGMENT_BYTES: String(1 << 20),
      METRICS_OPEN: 'on',
      PATH: process.env['PATH'] ?? '',
    };
    const launch = { wrapper: disk.wrapper };
    const vectord = await Vectord.start({ ...environment, ...settings }, launch);
    // It is told before any insert is refused, and the service is ready meanwhile.
    expect(vectord.stderr).toContain('the disk is nearly full');
    const scrape = new Scrape(await (await fetch(`${vectord.value('HTTP')}/metrics`)).text());
    expect(scrape.value('vectord_fault', { kind: 'full' })).toBe(1);
    expect(scrape.value('vectord_ready')).toBe(1);
    const client = open(vectord.addresses as TestServer, protocol);
    const content = 'x'.repeat(100_000);
    const fill = async (): Promise<void> => {
      for (;;) await client.upsert([{ vector: [1, 2, 3, 4], content }]);
    };
    await expectFailure(fill(), 'STORAGE_FULL', /full|space/i);
    expect(await client.count()).toBeGreaterThan(0);
  });
});
