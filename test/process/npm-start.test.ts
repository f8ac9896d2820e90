import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NPM_START, ownFolder, Vectord } from '../support/vectord.js';

let environment: Record<string, string> = {};
let npm: Vectord;

beforeEach(async () => {
  const own = ownFolder();
  environment = own.environment;
  const { PATH = '' } = process.env;
  const ofNpm = { PATH, HOME: own.folder, npm_config_update_notifier: 'false' };
  npm = await Vectord.start({ ...environment, ...ofNpm }, NPM_START);
});

afterEach(() => {
  try {
    // Whatever of its group is left, when a test has failed.
    process.kill(-pid(), 'SIGKILL');
  } catch {
    // Nothing is.
  }
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
