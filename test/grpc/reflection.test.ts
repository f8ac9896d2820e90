import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { ON_NICE_GRPC } from '../support/vectord.js';
import * as wire from '../support/wire.js';
import { Connection, framed } from './http2-call.js';

const PATHS = ['v1', 'v1alpha'].map(
  (version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
);
/** ServerReflectionRequest: file_containing_symbol is field 4, list_services field 7. */
const FILE_OF_SERVICE = wire.delimited(4, 'vectordb.VectorDB');
const LIST_SERVICES = wire.delimited(7, '');

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

afterAll(async () => {
  expect(await server.stop()).toBe(0);
});

function open({ grpc } = server): Connection {
  const connection = new Connection(grpc);
  onTestFinished(() => connection.close());
  return connection;
}

test.each(PATHS)('%s tells the services and their files, without a key', async (path) => {
  const { stream, status: ended } = open().open(path);
  const received: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => received.push(chunk));
  stream.end(Buffer.concat([framed(LIST_SERVICES), framed(FILE_OF_SERVICE)]));
  expect(await ended).toBe(status.OK);
  const answer = Buffer.concat(received).toString('latin1');
  for (const name of ['vectordb.VectorDB', 'grpc.health.v1.Health', 'vectordb/vectordb.proto']) {
    expect(answer).toContain(name);
  }
});

// The codec throws, which grpc-js answers with INTERNAL.
describe.skipIf(ON_NICE_GRPC).each(PATHS)('a broken message to %s', (path) => {
  test('is INVALID_ARGUMENT', async () => {
    const { stream, status: ended } = open().open(path);
    stream.end(framed(Buffer.alloc(10, 0xff)));
    expect(await ended).toBe(status.INVALID_ARGUMENT);
  });

  test('is refused where a text claims to be 4 GiB long, and holds nobody up', async () => {
    const connection = open();
    const claim = Buffer.concat([wire.tag(4, wire.LENGTH_DELIMITED), wire.varint(0xffff_ffff)]);
    const calls = Array.from({ length: 20 }, () => connection.call(path, {}, framed(claim)));
    const codes = await Promise.all(calls);
    expect(new Set(codes)).toEqual(new Set([status.INVALID_ARGUMENT]));
  });
});

test('GRPC_REFLECTION turns it off: UNIMPLEMENTED', async () => {
  const own = await startServer({ env: { GRPC_REFLECTION: 'false' } });
  const connection = open(own);
  for (const path of PATHS) {
    expect(await connection.call(path, {}, framed(LIST_SERVICES))).toBe(status.UNIMPLEMENTED);
  }
  expect(await own.stop()).toBe(0);
});
