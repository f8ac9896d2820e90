import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ownFolder, POINT, Vectord } from '../support/vectord.js';

/** Runs before the service in each of its threads: the one that reads crashes instead of answering. */
const CRASH = `
const { isMainThread, parentPort, workerData } = require('node:worker_threads');
if (!isMainThread && workerData?.dimension) parentPort.postMessage = () => { throw new Error('a crash on purpose'); };
`;

test('a crash of the thread that reads requests is logged and ends the process with 1', async () => {
  const { folder, environment } = ownFolder();
  const crashPath = join(folder, 'crash.cjs');
  writeFileSync(crashPath, CRASH);
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
