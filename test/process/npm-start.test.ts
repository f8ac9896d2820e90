import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { killAll, makeFolder, NPM_START, Vectord, writeKeys } from './vectord.js';

let folder = '';
let environment: Record<string, string> = {};
let npm: Vectord;

beforeEach(async () => {
  folder = makeFolder();
  const keysPath = join(folder, 'keys.json');
  writeKeys(keysPath, { role: 'readwrite', key: 'the-key' });
  environment = {
    DATA_PATH: join(folder, 'data'),
    SERVICE_KEYS_FILE: keysPath,
    DIMENSION: '4',
  };
  const { PATH = '' } = process.env;
  const own = { PATH, HOME: folder, npm_config_update_notifier: 'false' };
  npm = await Vectord.start({ ...environment, ...own }, NPM_START);
});

afterEach(async () => {
  try {
    // Whatever of its group is left, when a test has failed.
    process.kill(-pid(), 'SIGKILL');
  } catch {
    // Nothing is.
  }
  await killAll();
  rmSync(folder, { recursive: true });
});

function pid(): number {
  return npm.process.pid ?? 0;
}

describe('npm start', () => {
  test.each([
    ['SIGTERM to npm', () => process.kill(pid(), 'SIGTERM')],
    ['SIGTERM to all that it has started', () => process.kill(-pid(), 'SIGTERM')],
    ['Ctrl-C, which is SIGINT to all that it has started', () => process.kill(-pid(), 'SIGINT')],
    ['the end of npm without a word', () => process.kill(pid(), 'SIGKILL')],
  ])('ends the service by %s, and loses nothing', async (_, end) => {
    for (let count = 0; count < 3; count += 1) expect(await npm.insert('the-key')).toBe(201);
    end();
    // That is once nobody has its output any more: the service, too, has ended.
    await npm.exit;
    expect(npm.stderr).toMatch(/"msg":"stopped"/);
    const again = await Vectord.start(environment);
    expect(again.value('points')).toBe('3');
    expect(await again.stop()).toEqual({ code: 0, signal: null });
  });
});
