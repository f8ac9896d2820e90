import { renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { killAll, makeFolder, Vectord, writeKeys } from './vectord.js';

let folder = '';
let keysPath = '';
let vectord: Vectord;

beforeEach(async () => {
  folder = makeFolder();
  keysPath = join(folder, 'keys.json');
  writeKeys(keysPath, { role: 'readwrite', key: 'old-key' });
  vectord = await Vectord.start({
    DATA_PATH: join(folder, 'data'),
    SERVICE_KEYS_FILE: keysPath,
    DIMENSION: '4',
  });
});

afterEach(async () => {
  await killAll();
  rmSync(folder, { recursive: true });
});

test('a changed keys file is in force within seconds', async () => {
  expect(await vectord.insert('old-key')).toBe(201);
  writeKeys(`${keysPath}.tmp`, { role: 'readwrite', key: 'new-key' });
  renameSync(`${keysPath}.tmp`, keysPath);
  await expectStatus('new-key', 201);
  expect(await vectord.insert('old-key')).toBe(401);
});

test('a role that is taken away is gone', async () => {
  writeKeys(keysPath, { role: 'readonly', key: 'old-key' });
  await expectStatus('old-key', 403);
});

test('SIGHUP reads the file even where its change cannot be seen', async () => {
  writeKeys(keysPath, { role: 'readwrite', key: 'new-key' });
  utimesSync(keysPath, 0, 0);
  vectord.process.kill('SIGHUP');
  await vectord.until(() => vectord.stderr.includes('keys file read again'));
  expect(await vectord.insert('new-key')).toBe(201);
});

test('a bad file is refused loudly on SIGHUP and the old keys stay', async () => {
  writeFileSync(keysPath, '{"keys":[{"name":"x","role":"readwrite","key":""}]}');
  vectord.process.kill('SIGHUP');
  await vectord.until(() => vectord.stderr.includes('keys file refused'));
  expect(vectord.stderr).toContain('key is empty');
  expect(await vectord.insert('old-key')).toBe(201);
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
});

async function expectStatus(key: string, status: number): Promise<void> {
  await vi.waitFor(async () => expect(await vectord.insert(key)).toBe(status), { timeout: 5000 });
}
