import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addKey, readKeyEntries, revokeKey } from './keys-edit.js';
import { createKeysFile, parseKeysFile } from './keys-file.js';
import { Keys } from './keys.js';

let folder = '';
let path = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vectord-keys-'));
  path = join(folder, 'keys.json');
});

afterEach(() => {
  expect(readdirSync(folder).filter((name) => name.endsWith('.lock'))).toEqual([]);
  rmSync(folder, { recursive: true });
});

describe('a key that is added', () => {
  test('opens the service under its name and role, and is nowhere in the file', async () => {
    createKeysFile(path);
    const before = readKeyEntries(path);
    const key = await addKey(path, { name: 'shop', role: 'readonly' });
    expect(key).toMatch(/^[\w-]{43}$/);
    expect(holderOf(key)).toEqual({ name: 'shop', role: 'readonly' });
    expect(readFileSync(path, 'utf8')).not.toContain(key);
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(readKeyEntries(path)).toEqual([
      ...before,
      { name: 'shop', role: 'readonly', sha256: hash },
    ]);
  });

  test('makes a file for its owner alone where there is none', async () => {
    const key = await addKey(path, { name: 'shop', role: 'readwrite' });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(holderOf(key)?.name).toBe('shop');
  });

  test('has a name of its own, or nothing is changed', async () => {
    await addKey(path, { name: 'shop', role: 'readwrite' });
    const text = readFileSync(path, 'utf8');
    await expect(addKey(path, { name: 'shop', role: 'readonly' })).rejects.toThrow(
      `the keys file ${path} has a key "shop" already: choose another name`,
    );
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  test('leaves a file that is not understood as it is', async () => {
    writeFileSync(path, '{"keys":[{"name":"a","role":"root","key":"secret"}]}');
    await expect(addKey(path, { name: 'shop', role: 'readonly' })).rejects.toThrow('role is not');
    expect(readFileSync(path, 'utf8')).toContain('"role":"root"');
  });

  test.each([0o600, 0o640])('leaves the permissions %o of the file as they are', async (mode) => {
    createKeysFile(path);
    chmodSync(path, mode);
    await addKey(path, { name: 'shop', role: 'readonly' });
    expect(statSync(path).mode & 0o777).toBe(mode);
  });

  test.runIf(process.getuid?.() === 0)('leaves the owner of the file as it is', async () => {
    createKeysFile(path);
    chownSync(path, 65_534, 65_533);
    await addKey(path, { name: 'shop', role: 'readonly' });
    expect(statSync(path)).toMatchObject({ uid: 65_534, gid: 65_533 });
  });

  test('goes into the file that a link names, and the link stays', async () => {
    createKeysFile(path);
    const link = join(folder, 'link.json');
    symlinkSync(path, link);
    const key = await addKey(link, { name: 'shop', role: 'readonly' });
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(holderOf(key)?.name).toBe('shop');
  });

  test('is not lost where others are added and revoked at the same time', async () => {
    createKeysFile(path);
    await addKey(path, { name: 'old', role: 'readonly' });
    const names = Array.from({ length: 20 }, (_, index) => `key ${index}`);
    await Promise.all([
      ...names.map(async (name) => addKey(path, { name, role: 'readonly' })),
      revokeKey(path, 'old', { force: false }),
    ]);
    const found = readKeyEntries(path).map(({ name }) => name);
    expect(found.toSorted()).toEqual(['admin', 'search', ...names].toSorted());
  });
});

describe('a key that is revoked', () => {
  test('is gone, and the others are as they were', async () => {
    createKeysFile(path);
    const before = readKeyEntries(path);
    const key = await addKey(path, { name: 'shop', role: 'readonly' });
    await revokeKey(path, 'shop', { force: false });
    expect(holderOf(key)).toBeUndefined();
    expect(readKeyEntries(path)).toEqual(before);
  });

  test('is one of the file', async () => {
    createKeysFile(path);
    await expect(revokeKey(path, 'shop', { force: true })).rejects.toThrow(
      `the keys file ${path} has no key "shop", expected one of "admin", "search"`,
    );
  });

  test('is not the last one that may write, unless that is forced', async () => {
    createKeysFile(path);
    await expect(revokeKey(path, 'admin', { force: false })).rejects.toThrow('add --force');
    expect(readKeyEntries(path)).toHaveLength(2);
    await revokeKey(path, 'admin', { force: true });
    expect(readKeyEntries(path)).toMatchObject([{ name: 'search', role: 'readonly' }]);
  });

  test('is not the only one, forced or not: a file without keys is none', async () => {
    await addKey(path, { name: 'shop', role: 'readwrite' });
    await expect(revokeKey(path, 'shop', { force: true })).rejects.toThrow('has no other key');
    expect(readKeyEntries(path)).toHaveLength(1);
  });
});

test('what an interrupted change left is named, and what to do about it', async () => {
  createKeysFile(path);
  writeFileSync(`${path}.lock`, '');
  await expect(addKey(path, { name: 'shop', role: 'readonly' })).rejects.toThrow(
    `is being changed by another process: remove ${path}.lock if none is`,
  );
  expect(existsSync(`${path}.lock`)).toBe(true);
  rmSync(`${path}.lock`);
}, 30_000);

test('a folder in which nothing can be made is told of', async () => {
  const missing = join(folder, 'missing', 'keys.json');
  await expect(addKey(missing, { name: 'shop', role: 'readonly' })).rejects.toThrow(
    `the keys file ${missing} cannot be changed: ENOENT`,
  );
});

function holderOf(key: string) {
  return new Keys(parseKeysFile(path, readFileSync(path, 'utf8'))).lookup(key);
}
