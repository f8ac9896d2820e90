import { fstatSync, linkSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { createKeysFile } from './keys-file.js';

const calls = vi.hoisted((): string[] => []);

/** What of it touches the disk for good is noted. */
vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof import('node:fs')>();
  return {
    ...fs,
    fsyncSync(file: number) {
      const status = fstatSync(file);
      calls.push(status.isDirectory() ? 'sync of the folder' : `sync of ${status.size} bytes`);
      fs.fsyncSync(file);
    },
    linkSync(...paths: Parameters<typeof linkSync>) {
      calls.push('name');
      fs.linkSync(...paths);
    },
  };
});

test('a keys file is on disk before it has its name, and its name is', () => {
  const folder = mkdtempSync(join(tmpdir(), 'vectord-keys-'));
  createKeysFile(join(folder, 'keys.json'));
  rmSync(folder, { recursive: true });
  expect(calls).toEqual([
    expect.stringMatching(/^sync of [1-9]\d+ bytes$/),
    'name',
    'sync of the folder',
  ]);
});
