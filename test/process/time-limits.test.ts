import { once } from 'node:events';
import { constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { beforeAll, describe, expect, test } from 'vitest';
import { UpsertStreamRequest } from '../../src/gen/vectord/v1/points.js';
import { Connection, framed, type OpenCall } from '../grpc/http2-call.js';
import {
  BEGIN,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  framesIn,
  GOAWAY,
  HEADERS,
  headOf,
  RST_STREAM,
} from '../grpc/raw-http2.js';
import { startServer, type TestServer } from '../support/server.js';
import * as wire from '../support/wire.js';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

/** Connects, and sends these bytes and nothing more. */
function connectTo(address: string, first: string | Buffer = ''): Socket {
  const { hostname, port } = new URL(address.startsWith('http') ? address : `http://${address}`);
  const socket = connect(Number(port), hostname);
  socket.write(first);
  return socket;
}

function openStream(connection: Connection, method: string): OpenCall {
  const headers = { authorization: server.keys.readwrite };
  return connection.open(`/vectord.v1.PointsService/${method}`, headers);
}

/** The message of an UpsertStream of one point. */
function upsertOf(content: string): Buffer {
  const point = { id: '', vector: [1, 2, 3, 4], content, contentType: 0, metadata: '' };
  const message = { points: [point], ifAbsent: false, collection: '' };
  return framed(UpsertStreamRequest.encode(message).finish());
}

/** Waits until the service has closed it. */
async function closed(socket: Socket): Promise<void> {
  await once(socket.resume(), 'close');
}

describe.concurrent('who makes the service wait', { timeout: 60_000 }, () => {
  test(
    'a gRPC connection that was told to move and falls silent is closed',
    { timeout: 120_000 },
    async () => {
      const content = 'x'.repeat(400_000);
      const other = new Connection(server.grpc);
      const { readwrite } = server.keys;
      const inserted = other.open('InsertVector', { authorization: readwrite });
      const [message] = await Promise.all([
        once(inserted.stream, 'data'),
        inserted.stream.end(framed(wire.insertRequest([1, 2, 3, 4], content))),
      ]);
      other.close();
      const socket = connectTo(server.grpc, BEGIN);
      const key: [string, string] = ['authorization', readwrite];
      const open = (path: string, stream: number): Buffer =>
        frame(HEADERS, END_HEADERS, stream, headOf(path, key));
      socket.write(open('/vectord.v1.PointsService/UpsertStream', 1));
      const received: Buffer[] = [];
      socket.on('data', (chunk) => received.push(chunk));
      const isTold = (): boolean =>
        framesIn(Buffer.concat(received)).some(({ type }) => type === GOAWAY);
      for (let stream = 3; !isTold(); stream += 2) {
        socket.write(open('/vectordb.VectorDB/GetPoint', stream));
        // Its only field is the id, as is that of the request.
        socket.write(frame(DATA, END_STREAM, stream, message[0]));
        await sleep(50);
        socket.write(frame(RST_STREAM, 0, stream, Buffer.of(0, 0, 0, constants.NGHTTP2_CANCEL)));
      }
      await expect(closed(socket)).resolves.toBeUndefined();
    },
  );

  test('headers that do not end are refused', async () => {
    const socket = connectTo(server.http, 'GET /health HTTP/1.1\r\nHo');
    let answer = '';
    for await (const piece of socket.setEncoding('latin1')) answer += piece;
    expect(answer).toContain('\r\nContent-Type: text/plain; charset=utf-8\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 408 [^]*\r\n\r\nThe request took too long to arrive$/);
  });

  test('a body that stops arriving is refused', async () => {
    const head = `POST /points HTTP/1.1\r\nHost: x\r\napi-key: ${server.keys.readwrite}\r\n`;
    const socket = connectTo(server.http, `${head}Content-Length: 1000\r\n\r\n{`);
    const [answer] = await once(socket.setEncoding('latin1'), 'data');
    expect(answer).toMatch(/^HTTP\/1\.1 408 [^]*did not arrive in time$/);
    socket.destroy();
  });

  test('a gRPC message that stops arriving is refused', async () => {
    const connection = new Connection(server.grpc);
    const headers = { authorization: server.keys.readwrite };
    const { stream, status: answered } = connection.open('InsertVector', headers);
    stream.write(framed(wire.insertRequest([1, 2, 3, 4], 'x')).subarray(0, -1));
    expect(await answered).toBe(status.DEADLINE_EXCEEDED);
    connection.close();
  });

  test('an HTTP connection on which nothing comes is closed', async () => {
    await closed(connectTo(server.http));
    expect(server.log()).toContain('"interface":"http","reason":"timeout"');
  });

  test.each([
    ['on which nothing comes', ''],
    ['that sends less than a preface', 'PRI * HTTP/2.0\r\n'],
    ['that answers no ping', BEGIN],
  ])('a gRPC connection %s is closed', async (_, first) => {
    await closed(connectTo(server.grpc, first));
    expect(server.log()).toContain('"reason":"unanswered_ping"');
  });

  // The calls of these two tests wait together: only a few tests run at a time.
  const whole = upsertOf('x');
  const half = whole.subarray(0, 20);
  const rest = whole.subarray(20);

  test('a stream whose message, or the end of its only one, does not arrive is refused', async () => {
    const connection = new Connection(server.grpc);
    const statusOf = async (method: string, ...sent: Buffer[]): Promise<number> => {
      const call = openStream(connection, method);
      call.stream.write(Buffer.concat(sent));
      return await call.status;
    };
    const answered = Promise.all([
      statusOf('ScrollStream', half),
      statusOf('ScrollStream', framed(Buffer.alloc(0))),
      statusOf('UpsertStream', half),
      statusOf('UpsertStream', whole, half),
    ]);
    expect(await answered).toEqual(Array(4).fill(status.DEADLINE_EXCEEDED));
    connection.close();
  });

  test('a stream goes on between its messages, and while each arrives, if slowly', async () => {
    const connection = new Connection(server.grpc);
    const statusOf = async (pauseMs: number, pieces: readonly Buffer[]): Promise<number> => {
      const { stream, status: answered } = openStream(connection, 'UpsertStream');
      for (const [at, piece] of pieces.entries()) {
        if (at > 0) await sleep(pauseMs);
        stream.write(piece);
      }
      stream.end();
      return await answered;
    };
    const next = Buffer.concat([rest, half]);
    const large = upsertOf('x'.repeat(400_000));
    const part = (at: number): Buffer => large.subarray(at * 100_000, (at + 1) * 100_000);
    const answered = Promise.all([
      statusOf(12_000, [whole, whole]),
      statusOf(3_000, [half, next, next, next, rest]),
      statusOf(3_000, [0, 1, 2, 3, 4].map(part)),
    ]);
    expect(await answered).toEqual(Array(3).fill(status.OK));
    connection.close();
  });
});

test('a client with a key that stands still for some seconds keeps its connection', async () => {
  const connection = new Connection(server.grpc);
  const insert = async () => {
    const headers = { authorization: server.keys.readwrite };
    const { stream, status: answered } = connection.open('InsertVector', headers);
    stream.end(framed(wire.insertRequest([1, 2, 3, 4], 'x')));
    return await answered;
  };
  expect(await insert()).toBe(status.OK);
  // As one that encodes a large message: it answers no ping meanwhile.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_000);
  expect(await insert()).toBe(status.OK);
  connection.close();
}, 60_000);
