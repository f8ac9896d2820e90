import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http2';
import { expect, test } from 'vitest';
import { startServer } from '../support/server.js';
import { ON_NICE_GRPC } from '../support/vectord.js';
import { Connection, framed } from './http2-call.js';

const ANSWER = ON_NICE_GRPC
  ? 'The server does not implement the method /x.Y/Z'
  : 'There is no method /x.Y/Z';

// Otherwise a run that is to test nice-grpc's server could test our own once more.
test('calls are answered by the server of this run, on each loop', async () => {
  const { grpc } = await startServer({ env: { LOOPS: '2' } });
  const connections = Array.from({ length: 4 }, () => new Connection(grpc));
  const answers = connections.map(async (connection) => {
    const { stream } = connection.open('/x.Y/Z');
    stream.end(framed(Buffer.alloc(0)));
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    return decodeURIComponent(String(headers['grpc-message']));
  });
  expect(new Set(await Promise.all(answers))).toEqual(new Set([ANSWER]));
  for (const connection of connections) connection.close();
});
