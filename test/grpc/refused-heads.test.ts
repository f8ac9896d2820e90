import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { MAIN, ownFolder, Vectord } from '../support/vectord.js';
import {
  BEGIN,
  connectTo,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  GOAWAY,
  HEADERS,
  headOf,
} from './raw-http2.js';

const ROUNDS = 8;
const CONNECTIONS = 24;

// Node refuses the path before the service hears of the call.
const refused = [1, 3, 5, 7].map((stream) =>
  frame(HEADERS, END_HEADERS | END_STREAM, stream, headOf('*', ['x', 'v'.repeat(100)])),
);
const GONE = Buffer.concat([...refused, frame(GOAWAY, 0, 0, Buffer.alloc(8))]);
const CALLS = Buffer.concat(
  Array.from({ length: 20 }, (_, at) =>
    frame(HEADERS, END_HEADERS | END_STREAM, 2 * at + 1, headOf('/none')),
  ),
);

test('calls that node refuses, with the end of their connection, do not end the process', async () => {
  const { environment } = ownFolder();
  const settings = { ...environment, LOOPS: '1', TRUSTED_PROXIES: '127.0.0.1' };
  // Node collects garbage all the time.
  const command = [process.execPath, '--gc-interval=100', MAIN];
  const vectord = await Vectord.start(settings, { command });
  for (let round = 0; round < ROUNDS; round += 1) {
    const sockets = Array.from({ length: CONNECTIONS }, () => connectTo(vectord.value('gRPC')));
    for (const socket of sockets) socket.on('error', () => {}).write(BEGIN);
    await Promise.all(sockets.map(async (socket) => await once(socket, 'data')));
    // What the others send meanwhile is read in one turn.
    sockets[0]?.write(CALLS);
    await sleep(1);
    for (const [at, socket] of sockets.entries()) {
      if (at > 0) socket.write(at % 2 === 0 ? CALLS : GONE);
    }
    await sleep(20);
    for (const socket of sockets) socket.destroy();
    expect(vectord.stderr).not.toContain('Assertion');
  }
  expect(await vectord.insert('the-key')).toBe(201);
});

test('a call behind the end of its connection, with a message, does not end the process', async () => {
  const { environment } = ownFolder();
  const vectord = await Vectord.start(environment);
  const failed = frame(GOAWAY, 0, 0, Buffer.from('0000000000000002', 'hex'));
  const call = frame(HEADERS, END_HEADERS, 1, headOf('/none'));
  const socket = connectTo(vectord.value('gRPC')).on('error', () => {});
  socket.resume();
  socket.write(Buffer.concat([BEGIN, failed, call, frame(DATA, 0, 1, Buffer.alloc(10))]));
  await once(socket, 'close');
  expect(vectord.stderr).not.toContain('Assertion');
  expect(await vectord.insert('the-key')).toBe(201);
});
