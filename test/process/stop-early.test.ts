import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ownFolder, Vectord } from '../support/vectord.js';

const SOURCE = fileURLToPath(new URL('slow-open.c', import.meta.url));

test.runIf(process.platform === 'linux')(
  'an open that takes long says so, and SIGTERM ends it with 0 and without harm',
  async () => {
    const { folder, environment } = ownFolder();
    const before = await Vectord.start(environment);
    expect(await before.insert('the-key')).toBe(201);
    await before.stop();

    const library = join(folder, 'slow-open.so');
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, SOURCE, '-ldl']);
    const vectord = new Vectord({ ...environment, LD_PRELOAD: library });
    await vectord.until(() => vectord.stderr.includes('"opening the data folder"'));
    expect(await vectord.stop()).toEqual({ code: 0, signal: null });
    expect(vectord.stderr).toContain('stopped before the service was ready');
    expect(vectord.stdout).toBe('');

    expect((await Vectord.start(environment)).value('points')).toBe('1');
  },
);
