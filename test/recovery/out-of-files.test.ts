import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { ownFolder, Vectord } from '../support/vectord.js';

/** The process takes some 30 for itself. */
const MOST_FILES = 128;

/** More than a file of the log, so that each batch has one of its own. */
const CONTENT_BYTES = 90_000;
const SEGMENT_BYTES = 65_536;

test('strangers who take all file descriptors have large writes refused, and nothing afterwards', async () => {
  const environment = { ...ownFolder().environment, SEGMENT_BYTES: String(SEGMENT_BYTES) };
  const wrapper = ['sh', '-c', `ulimit -n ${MOST_FILES} && exec "$@"`, 'sh'];
  const vectord = await Vectord.start(environment, { wrapper });
  let stored = 0;
  const insert = async (bytes: number): Promise<number> => {
    const status = await insertOf(vectord, bytes);
    if (status === 201) stored += 1;
    return status;
  };
  expect(await insert(1)).toBe(201);

  const strangers: Socket[] = [];
  let status = 201;
  while (status === 201 && strangers.length < 4 * MOST_FILES) {
    strangers.push(await stranger(vectord));
    if (strangers.length > MOST_FILES / 2) status = await insert(CONTENT_BYTES);
  }
  expect(status).toBe(503);
  // This one needs no file of its own.
  expect(await insert(1)).toBe(201);
  await Promise.all(strangers.map(end));

  await expect.poll(() => insert(CONTENT_BYTES), { timeout: 10_000 }).toBe(201);
  expect((await fetch(`${vectord.value('HTTP')}/ready`)).status).toBe(200);
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
  const next = await Vectord.start(environment);
  expect(next.value('points')).toBe(String(stored));
});

async function insertOf(vectord: Vectord, bytes: number): Promise<number> {
  const response = await fetch(`${vectord.value('HTTP')}/points`, {
    method: 'POST',
    headers: { 'api-key': 'the-key', 'content-type': 'application/json' },
    body: JSON.stringify({
      vector: [1, 2, 3, 4],
      payload: { content_type: 'Text', content: 'x'.repeat(bytes) },
    }),
  });
  await response.text();
  return response.status;
}

/** A connection on which nothing is ever sent. */
async function stranger(vectord: Vectord): Promise<Socket> {
  const { hostname, port } = new URL(`tcp://${vectord.value('gRPC')}`);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

async function end(socket: Socket): Promise<void> {
  if (socket.closed) return;
  const closed = once(socket, 'close');
  socket.destroy();
  await closed;
}
