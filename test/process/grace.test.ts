import { connect } from 'node:net';
import { expect, test, vi } from 'vitest';
import { Connection, framed } from '../grpc/http2-call.js';
import * as wire from '../support/wire.js';
import { ownFolder, Vectord } from '../support/vectord.js';

test('whatever is open at the time, the end comes with 0, and what was answered stays', async () => {
  const { environment } = ownFolder();
  const vectord = await Vectord.start(environment);
  const http = new URL(vectord.value('HTTP'));
  const grpc = new URL(`http://${vectord.value('gRPC')}`);
  const connections: readonly (readonly [URL, string])[] = [
    [http, ''],
    [http, 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n'],
    [http, 'GET /health HTTP/1.1\r\nHo'],
    [
      http,
      'POST /points HTTP/1.1\r\nHost: x\r\napi-key: the-key\r\nContent-Length: 99\r\n\r\n{"vec',
    ],
    [grpc, ''],
    [grpc, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ];
  const sockets = connections.map(([{ hostname, port }, text]) => {
    const socket = connect(Number(port), hostname)
      .on('error', () => {})
      .resume();
    socket.write(text);
    return socket;
  });
  const calls = new Connection(grpc.host);
  const headers = { authorization: 'the-key' };
  calls.open('/grpc.health.v1.Health/Watch').stream.end(framed(new Uint8Array()));
  calls.open('/grpc.reflection.v1.ServerReflection/ServerReflectionInfo');
  calls.open('InsertVector', headers).stream.write(Buffer.of(0, 0, 0, 0, 99, 1));
  calls.open('InsertVector', headers).stream.write(framed(wire.insertRequest([1, 2, 3, 4], 'x')));
  await calls.settled();

  let answered = 0;
  const inserters = Array.from({ length: 8 }, async () => {
    for (;;) {
      const answer = await vectord.insert('the-key').catch(() => 0);
      if (answer !== 201) return;
      answered += 1;
    }
  });
  await vi.waitFor(() => expect(answered).toBeGreaterThan(20), { timeout: 20_000 });
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
  await Promise.all(inserters);
  expect(vectord.stderr).not.toMatch(/"level":"(error|fatal)"/);
  for (const socket of sockets) socket.destroy();
  calls.close();
  const points = Number((await Vectord.start(environment)).value('points'));
  // One that was not answered may be there as well.
  expect(points).toBeGreaterThanOrEqual(answered);
  expect(points).toBeLessThanOrEqual(answered + inserters.length + 1);
});
