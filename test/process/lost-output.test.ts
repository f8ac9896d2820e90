import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ownFolder, Vectord } from '../support/vectord.js';

/** A file to which nothing can be written, as if its disk were full. */
const FULL = '/dev/full';

test.skipIf(!existsSync(FULL))('a service whose log cannot be written serves on', async () => {
  const environment = {
    ...ownFolder().environment,
    LOG_LEVEL: 'debug',
    SLOW_REQUEST_MS: '1',
  };
  const wrapper = ['sh', '-c', `exec "$@" 2> ${FULL}`, 'sh'];
  const vectord = await Vectord.start(environment, { wrapper });
  expect(await vectord.insert('the-key')).toBe(201);
  // Each of these is logged.
  expect(await vectord.insert('another-key')).toBe(401);
  vectord.process.kill('SIGHUP');
  expect(await vectord.insert('the-key')).toBe(201);
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
  expect(vectord.stderr).toBe('');
  expect((await Vectord.start(environment)).value('points')).toBe('2');
});
