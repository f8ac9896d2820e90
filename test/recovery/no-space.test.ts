import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { expectRefusal } from '../support/refusal.js';
import { canMount, SmallDisk } from '../support/small-disk.js';
import { ownFolder, Vectord } from '../support/vectord.js';

const needs = '(needs Linux that lets its users mount a disk)';
test.skipIf(!canMount())(
  `a start that finds no space at all says what to do ${needs}`,
  async () => {
    const { dataPath: mountPoint } = ownFolder();
    mkdirSync(mountPoint);
    const disk = await SmallDisk.mount(mountPoint, 64 << 10);
    onTestFinished(() => disk.release());
    writeFileSync(disk.path('filler'), Buffer.alloc(60 << 10));
    expect(() => writeFileSync(disk.path('rest'), Buffer.alloc(60 << 10))).toThrow('ENOSPC');

    const environment = { DATA_PATH: join(mountPoint, 'data'), PATH: process.env['PATH'] ?? '' };
    const refused = new Vectord(environment, [], { wrapper: disk.wrapper });
    await expectRefusal(refused, 1, '(os error 28)', 'Free some on that disk, and start again');
  },
);
