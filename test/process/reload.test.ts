import { renameSync, utimesSync, writeFileSync } from 'node:fs';
import { constants } from 'node:http2';
import { beforeEach, expect, test, vi } from 'vitest';
import { Connection } from '../grpc/http2-call.js';
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

test('a gRPC connection whose key is gone is limited as one without a key', async () => {
  const connection = new Connection(vectord.value('gRPC'));
  const { session } = connection;
  const headers = { authorization: 'the-key' };
  // None of them has a message, so that they wait for it until they are reset.
  const resetSome = async (method: string): Promise<void> => {
    const calls = Array.from({ length: 100 }, () => connection.open(method, headers));
    await connection.settled();
    for (const { stream } of calls) stream.close(constants.NGHTTP2_CANCEL);
    await Promise.all(calls.map(({ closed }) => closed));
  };
  await resetSome('SearchPoints');
  await connection.settled();
  expect(vectord.stderr).not.toContain('"reason":"resets"');
  writeKeys(keysPath, { role: 'readwrite', key: 'new-key' });
  await expectStatus('new-key', 201);
  await vi.waitFor(
    async () => {
      if (!session.destroyed) await resetSome('/grpc.health.v1.Health/Watch');
      expect(vectord.stderr).toContain('"reason":"resets"');
    },
    { timeout: 10_000 },
  );
  connection.close();
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
