import { fstatSync, linkSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { addKey } from './keys-edit.js';
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
    renameSync(...paths: Parameters<typeof renameSync>) {
      calls.push('name');
      fs.renameSync(...paths);
    },
  };
});

const DURABLY = [expect.stringMatching(/^sync of [1-9]\d+ bytes$/), 'name', 'sync of the folder'];

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vectord-keys-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

test('a keys file is on disk before it has its name, and its name is', async () => {
  const path = join(folder, 'keys.json');
  calls.length = 0;
  createKeysFile(path);
  expect(calls).toEqual(DURABLY);
  calls.length = 0;
  await addKey(path, { name: 'shop', role: 'readonly' });
  expect(calls).toEqual(DURABLY);
});
