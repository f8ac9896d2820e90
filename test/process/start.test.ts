import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { writeKeys } from '../support/folders.js';
import { ownFolder, Vectord } from '../support/vectord.js';

let folder = '';
let dataPath = '';
let keysPath = '';

beforeEach(() => {
  ({ folder } = ownFolder());
  dataPath = join(folder, 'data', 'of-vectord');
  keysPath = join(dataPath, 'keys.json');
});

test('the start block tells the addresses that answer, though the ports were picked', async () => {
  const vectord = await Vectord.start({ DATA_PATH: dataPath });
  const health = await fetch(`${vectord.value('HTTP')}/health`);
  expect([health.status, await health.text()]).toEqual([200, 'OK']);
  const [host = '', port] = vectord.value('gRPC').split(':');
  expect(host).toBe('127.0.0.1');
  await new Promise<void>((resolve, reject) => {
    const socket = connect(Number(port), host, () => resolve(void socket.destroy()));
    socket.on('error', reject);
  });
  expect(vectord.value('points')).toBe('0');
  expect(vectord.value('data')).toBe(dataPath);
});

test('HTTP_HOST is the address that the HTTP interface listens on, and the only one', async () => {
  // A second address of this machine: on Linux every one that begins with 127.
  const host = process.platform === 'linux' ? '127.0.0.2' : '::1';
  const vectord = await Vectord.start({ DATA_PATH: dataPath, HTTP_HOST: host });
  const { port } = new URL(vectord.value('HTTP'));
  const health = await fetch(`${vectord.value('HTTP')}/health`);
  expect(await health.text()).toBe('OK');
  await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow('fetch failed');
});

describe('without SERVICE_KEYS_FILE', () => {
  test('the first start makes a keys file for its owner alone; later ones use it', async () => {
    const environment = { DATA_PATH: dataPath, DIMENSION: '4' };
    const first = await Vectord.start(environment);
    expect(first.value('keys')).toBe(`${keysPath} (created)`);
    expect(statSync(dataPath).mode & 0o777).toBe(0o700);
    expect(statSync(keysPath).mode & 0o777).toBe(0o600);
    const text = readFileSync(keysPath, 'utf8');
    const [admin = '', search = ''] = readKeys(text);
    expect(await first.insert(admin)).toBe(201);
    expect(await first.insert(search)).toBe(403);
    expect(await first.insert('guess')).toBe(401);
    await first.stop();

    const second = await Vectord.start(environment);
    expect(second.value('keys')).toBe(`${keysPath} (found)`);
    expect(readFileSync(keysPath, 'utf8')).toBe(text);
    expect(await second.insert(admin)).toBe(201);
    await second.stop();
    for (const output of [first.stdout, first.stderr, second.stdout, second.stderr]) {
      expect(output).not.toContain(admin);
      expect(output).not.toContain(search);
    }
  });
});

describe('a data folder that was there before', () => {
  test('keeps its permissions; who lets everybody write to it is warned', async () => {
    mkdirSync(dataPath, { recursive: true });
    chmodSync(dataPath, 0o775);
    const first = await Vectord.start({ DATA_PATH: dataPath });
    expect(statSync(dataPath).mode & 0o777).toBe(0o775);
    await first.stop();
    expect(first.stderr).not.toContain('chmod');
    chmodSync(dataPath, 0o777);
    const second = await Vectord.start({ DATA_PATH: dataPath });
    expect(second.stderr).toContain(`data folder ${dataPath} (mode 777)`);
    expect(second.stderr).toContain(`chmod o-w ${dataPath}`);
  });
});

describe('keys that were lost', () => {
  test('are not replaced by the next start, and are by `vectord keys create`', async () => {
    const environment = { DATA_PATH: dataPath, DIMENSION: '4' };
    const first = await Vectord.start(environment);
    const lost = adminKey();
    expect(await first.insert(lost)).toBe(201);
    await first.stop();
    rmSync(keysPath);

    const refused = new Vectord(environment);
    expect(await refused.exit).toEqual({ code: 1, signal: null });
    expect(refused.stderr).toContain(`the keys file ${keysPath} is missing`);
    expect(refused.stderr).toContain('vectord keys create');
    expect(existsSync(keysPath)).toBe(false);

    const created = new Vectord(environment, ['keys', 'create']);
    expect(await created.exit).toEqual({ code: 0, signal: null });
    expect(created.stdout).toContain(`created ${keysPath}`);
    expect(created.stdout).toContain('two keys in plain text');
    expect(statSync(keysPath).mode & 0o777).toBe(0o600);
    const fresh = adminKey();
    expect(fresh).not.toBe(lost);
    for (const key of readKeys(readFileSync(keysPath, 'utf8'))) {
      expect(created.stdout + created.stderr).not.toContain(key);
    }
    const last = await Vectord.start(environment);
    expect(last.value('points')).toBe('1');
    expect([await last.insert(lost), await last.insert(fresh)]).toEqual([401, 201]);
  });

  test('`vectord keys create` leaves a file that exists as it is', async () => {
    const environment = { DATA_PATH: dataPath };
    mkdirSync(dataPath, { recursive: true });
    const [first, second] = [1, 2].map(() => new Vectord(environment, ['keys', 'create']));
    expect((await first?.exit)?.code === 0 || (await second?.exit)?.code === 0).toBe(true);
    const text = readFileSync(keysPath, 'utf8');
    const third = new Vectord(environment, ['keys', 'create']);
    expect(await third.exit).toEqual({ code: 1, signal: null });
    expect(third.stderr).toContain(`the keys file ${keysPath} exists`);
    expect(readFileSync(keysPath, 'utf8')).toBe(text);
  });

  test('`vectord keys create` makes the file that SERVICE_KEYS_FILE names', async () => {
    const path = join(folder, 'other.json');
    const environment = { DATA_PATH: dataPath, SERVICE_KEYS_FILE: path, DIMENSION: '4' };
    const created = new Vectord(environment, ['keys', 'create']);
    expect(await created.exit).toEqual({ code: 0, signal: null });
    expect(existsSync(dataPath)).toBe(false);
    const [admin = ''] = readKeys(readFileSync(path, 'utf8'));
    const vectord = await Vectord.start(environment);
    expect(await vectord.insert(admin)).toBe(201);
  });
});

test('a variable with nearly the name of a setting is warned about', async () => {
  const vectord = await Vectord.start({ DATA_PATH: dataPath, DIMENSIONS: '4' });
  expect(vectord.stderr).toContain('DIMENSIONS is not a setting and has no effect: is DIMENSION');
});

test('a keys file that everybody may read and that has a short key is warned about', async () => {
  const path = join(folder, 'open.json');
  writeKeys(path, { role: 'readwrite', key: 'short' });
  chmodSync(path, 0o644);
  const vectord = await Vectord.start({ DATA_PATH: dataPath, SERVICE_KEYS_FILE: path });
  expect(vectord.stderr).toContain(`read the keys file ${path} (mode 644)`);
  expect(vectord.stderr).toContain('fewer than 16 characters');
});

describe('the dimension', () => {
  test('is 384 on a fresh folder, until a point is stored', async () => {
    const first = await Vectord.start({ DATA_PATH: dataPath });
    expect(first.value('dimension')).toBe('384 (default: DIMENSION is not set)');
    await first.stop();
    const second = await Vectord.start({ DATA_PATH: dataPath, DIMENSION: '4' });
    expect(second.value('dimension')).toBe('4 (DIMENSION)');
  });

  test('is remembered with the first point', async () => {
    const first = await Vectord.start({ DATA_PATH: dataPath, DIMENSION: '4' });
    expect(await first.insert(adminKey())).toBe(201);
    await first.stop();
    const second = await Vectord.start({ DATA_PATH: dataPath });
    expect(second.value('dimension')).toBe('4 (remembered by the data folder)');
    expect(second.value('points')).toBe('1');
  });
});

test('a reader of the output that goes away does not stop the service', async () => {
  const vectord = new Vectord({ DATA_PATH: dataPath, DIMENSION: '4', HTTP_PORT: '0' });
  vectord.process.stdout.destroy();
  await vectord.until(() => existsSync(keysPath));
  // It has tried to write the start block once it takes this signal.
  await vi.waitFor(() => {
    vectord.process.kill('SIGHUP');
    expect(vectord.stderr).toContain('keys file read again');
  }, 20_000);
  vectord.process.stderr.destroy();
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
});

function adminKey(): string {
  return readKeys(readFileSync(keysPath, 'utf8'))[0] ?? '';
}

function readKeys(text: string): string[] {
  return JSON.parse(text).keys.map(({ key }: { key: string }) => key);
}
