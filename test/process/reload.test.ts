import { renameSync, utimesSync, writeFileSync } from 'node:fs';
import { beforeEach, expect, test, vi } from 'vitest';
import { writeKeys } from '../support/folders.js';
import { ownFolder, Vectord } from '../support/vectord.js';

let keysPath = '';
let vectord: Vectord;

beforeEach(async () => {
  const own = ownFolder();
  keysPath = own.keysPath;
  vectord = await Vectord.start(own.environment);
});

test('a changed keys file is in force within seconds', async () => {
  expect(await vectord.insert('the-key')).toBe(201);
  writeKeys(`${keysPath}.tmp`, { role: 'readwrite', key: 'new-key' });
  renameSync(`${keysPath}.tmp`, keysPath);
  await expectStatus('new-key', 201);
  expect(await vectord.insert('the-key')).toBe(401);
});

test('a role that is taken away is gone', async () => {
  writeKeys(keysPath, { role: 'readonly', key: 'the-key' });
  await expectStatus('the-key', 403);
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
  expect(await vectord.insert('the-key')).toBe(201);
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
});

async function expectStatus(key: string, status: number): Promise<void> {
  await vi.waitFor(async () => expect(await vectord.insert(key)).toBe(status), { timeout: 5000 });
}
