import { existsSync, mkdirSync, readFileSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { connect } from '../../src/client/node.js';
import { expectRefusal } from '../support/refusal.js';
import { ownFolder, Vectord } from '../support/vectord.js';

let dataPath = '';
let keysPath = '';
let environment: Record<string, string> = {};

beforeEach(() => {
  ({ dataPath } = ownFolder());
  mkdirSync(dataPath);
  keysPath = join(dataPath, 'keys.json');
  environment = { DATA_PATH: dataPath, DIMENSION: '4' };
});

test.each(['http', 'grpc'] as const)(
  'over %s a new key is accepted within seconds, has its role, and is refused once it is revoked',
  async (protocol) => {
    const server = await Vectord.start(environment);
    const address = protocol === 'http' ? server.value('HTTP') : `grpc://${server.value('gRPC')}`;
    const reader = connect(address, { key: await createKey('reader') });
    const writer = connect(address, { key: await createKey('writer', 'readwrite') });
    const points = [{ vector: [1, 2, 3, 4] }];
    await vi.waitFor(async () => expect(await reader.count()).toBe(0), { timeout: 10_000 });
    await vi.waitFor(() => writer.upsert(points), { timeout: 10_000 });
    await expect(reader.upsert(points)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(await reader.count()).toBe(1);

    await succeed('keys', 'revoke', 'reader');
    await vi.waitFor(
      () => expect(reader.count()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' }),
      { timeout: 10_000 },
    );
    expect(await writer.count()).toBe(1);
    for (const client of [reader, writer]) client.close();
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  },
);

test('a new key is alone on the standard output, and neither in the file nor in a list', async () => {
  await succeed('keys', 'create');
  const created = await succeed('keys', 'create', 'my shop', '--role', 'readwrite');
  expect(created.stdout).toMatch(/^[\w-]{43}\n$/);
  expect(created.stderr).toContain(`added the readwrite key "my shop" to ${keysPath}`);
  const key = created.stdout.trim();
  expect(created.stderr).not.toContain(key);
  const text = readFileSync(keysPath, 'utf8');
  expect(text).not.toContain(key);
  expect(statSync(keysPath).mode & 0o777).toBe(0o600);

  const { stdout, stderr } = await succeed('keys', 'list');
  expect(stdout).toBe(
    'NAME       ROLE       STORED AS\n' +
      'admin      readwrite  plain\n' +
      'search     readonly   plain\n' +
      '"my shop"  readwrite  hash\n',
  );
  expect(stderr).toBe('');
});

test('commands at the same time lose no key', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `key-${index}`);
  await Promise.all(names.map((name) => createKey(name)));
  const { keys } = JSON.parse(readFileSync(keysPath, 'utf8'));
  const found: string[] = keys.map(({ name }: { name: string }) => name);
  expect(found.toSorted()).toEqual(names);
});

describe('with 1, and without a change, is refused', () => {
  test('a name that is taken', async () => {
    await createKey('shop');
    await expectUnchanged(['create', 'shop'], 'has a key "shop" already');
  });

  test('to revoke a key that is not there', async () => {
    await createKey('shop');
    await expectUnchanged(['revoke', 'shpo'], 'has no key "shpo", expected one of "shop"');
  });

  test('to revoke the last key that may write, which --force does', async () => {
    await succeed('keys', 'create');
    await expectUnchanged(['revoke', 'admin'], 'add --force');
    await succeed('keys', 'revoke', 'admin', '--force');
    expect((await succeed('keys', 'list')).stdout).not.toContain('readwrite');
  });

  test.each([[[]], [['shop']]])('to create %j where there is no data folder', async (args) => {
    rmdirSync(dataPath);
    const vectord = new Vectord(environment, ['keys', 'create', ...args]);
    await expectRefusal(vectord, 1, `there is no data folder ${dataPath}: set DATA_PATH`);
    expect(existsSync(dataPath)).toBe(false);
  });

  test.each([['list'], ['revoke', 'a']])('%s without a keys file', async (...args) => {
    const vectord = new Vectord(environment, ['keys', ...args]);
    await expectRefusal(vectord, 1, `there is no keys file ${keysPath}`, 'vectord keys create');
  });

  async function expectUnchanged(args: readonly string[], reason: string): Promise<void> {
    const text = readFileSync(keysPath, 'utf8');
    await expectRefusal(new Vectord(environment, ['keys', ...args]), 1, reason);
    expect(readFileSync(keysPath, 'utf8')).toBe(text);
  }
});

/** A new key, as the command prints it. */
async function createKey(name: string, role = 'readonly'): Promise<string> {
  return (await succeed('keys', 'create', name, '--role', role)).stdout.trim();
}

async function succeed(...args: string[]): Promise<Vectord> {
  const vectord = new Vectord(environment, args);
  expect(await vectord.exit, vectord.stderr).toEqual({ code: 0, signal: null });
  return vectord;
}
