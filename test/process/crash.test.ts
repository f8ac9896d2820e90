import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { killAll, makeFolder, POINT, Vectord, writeKeys } from './vectord.js';

/** Runs before the service in each of its threads: those that are not the first crash, not answer. */
const CRASH = `
const { isMainThread, parentPort } = require('node:worker_threads');
if (!isMainThread) parentPort.postMessage = () => { throw new Error('a crash on purpose'); };
`;

let folder = '';

beforeEach(() => {
  folder = makeFolder();
});

afterEach(async () => {
  await killAll();
  rmSync(folder, { recursive: true });
});

test('a crash of the thread that reads requests is logged and ends the process with 1', async () => {
  const keysPath = join(folder, 'keys.json');
  const crashPath = join(folder, 'crash.cjs');
  writeKeys(keysPath, { role: 'readwrite', key: 'the-key' });
  writeFileSync(crashPath, CRASH);
  const environment = {
    DATA_PATH: join(folder, 'data'),
    SERVICE_KEYS_FILE: keysPath,
    DIMENSION: '4',
  };
  const vectord = await Vectord.start({ ...environment, NODE_OPTIONS: `--require ${crashPath}` });
  expect(await vectord.insert('the-key')).toBe(201);

  const large = fetch(`${vectord.value('HTTP')}/points/batch`, {
    method: 'POST',
    headers: { 'api-key': 'the-key', 'content-type': 'application/json' },
    body: JSON.stringify({ vectors: Array.from({ length: 5_000 }, () => POINT) }),
  });
  await expect(large).rejects.toThrow('fetch failed');
  expect(await vectord.exit).toEqual({ code: 1, signal: null });
  const lines = vectord.stderr.trim().split('\n');
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
    level: 'fatal',
    msg: 'defect: the service stops',
    err: {
      message: 'the thread that reads large requests has ended: a crash on purpose',
    },
  });
  expect((await Vectord.start(environment)).value('points')).toBe('1');
});
