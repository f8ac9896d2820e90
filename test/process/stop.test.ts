import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { killAll, makeFolder, POINT, Vectord, writeKeys } from './vectord.js';

let folder = '';
let environment: Record<string, string> = {};
let vectord: Vectord;

beforeEach(async () => {
  folder = makeFolder();
  const keysPath = join(folder, 'keys.json');
  writeKeys(keysPath, { role: 'readwrite', key: 'the-key' });
  const dataPath = join(folder, 'data');
  environment = { DATA_PATH: dataPath, SERVICE_KEYS_FILE: keysPath, DIMENSION: '4' };
  vectord = await Vectord.start(environment);
});

afterEach(async () => {
  await killAll();
  rmSync(folder, { recursive: true });
});

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends the process with 0', async (signal) => {
  expect(await vectord.insert('the-key')).toBe(201);
  expect(await vectord.stop(signal)).toEqual({ code: 0, signal: null });
  expect((await Vectord.start(environment)).value('points')).toBe('1');
});

test('an idle connection does not hold up the end', async () => {
  const agent = new Agent({ keepAlive: true });
  const health = request(`${vectord.value('HTTP')}/health`, { agent }).end();
  const [response] = (await once(health, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  const startedAtMs = performance.now();
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
  expect(performance.now() - startedAtMs).toBeLessThan(3000);
  agent.destroy();
});

test('a request that is under way is answered before the end, and kept', async () => {
  const insert = await beginInsert();
  vectord.process.kill('SIGTERM');
  await sleep(300);
  await expect(fetch(`${vectord.value('HTTP')}/health`)).rejects.toThrow('fetch failed');
  insert.finish();
  const [response] = (await once(insert.request, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(201);
  response.resume();
  expect(await vectord.exit).toEqual({ code: 0, signal: null });
  expect((await Vectord.start(environment)).value('points')).toBe('1');
});

test('a second signal does not wait for the requests that are under way', async () => {
  const insert = await beginInsert();
  insert.request.on('error', () => {});
  vectord.process.kill('SIGTERM');
  await sleep(700);
  expect(await vectord.stop('SIGTERM')).toEqual({ code: 128 + 15, signal: null });
});

test('a signal that arrives twice at once, as under npm, is one', async () => {
  vectord.process.kill('SIGINT');
  expect(await vectord.stop('SIGINT')).toEqual({ code: 0, signal: null });
});

/** Sends an insert up to the middle of its body. */
async function beginInsert(): Promise<{ request: ClientRequest; finish: () => void }> {
  const body = JSON.stringify(POINT);
  const insert = request(`${vectord.value('HTTP')}/points`, {
    method: 'POST',
    headers: { 'api-key': 'the-key', 'content-type': 'application/json' },
  });
  insert.write(body.slice(0, 10));
  // The server has the head of the request once it has had some time for it.
  await sleep(200);
  return { request: insert, finish: () => insert.end(body.slice(10)) };
}
