import { status, type Metadata } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VectordError, type ErrorCode } from '../../src/core/errors.js';
import { ErrorInfo, RetryInfo } from '../../src/gen/google/rpc/error_details.js';
import { Status } from '../../src/gen/google/rpc/status.js';
import { statusDetails } from '../../src/grpc/error-details.js';
import { untilInflight } from '../support/inflight.js';
import { startServer, type TestServer } from '../support/server.js';
import { ON_NICE_GRPC } from '../support/vectord.js';
import * as wire from '../support/wire.js';
import { RawClient } from './client.js';
import { Connection, framed } from './http2-call.js';

const LIMITS = { MAX_REQUEST_BYTES: '100000', MAX_BATCH: '1', MAX_INFLIGHT_BYTES: '100000' };
const INSERT = wire.insertRequest([1, 2, 3, 4], 'x');

let server: TestServer;
let client: RawClient;

beforeAll(async () => {
  server = await startServer({ env: LIMITS });
  client = new RawClient(server.grpc, server.keys.readwrite);
});

afterAll(() => client.close());

function read(bytes: Uint8Array) {
  const { code, message, details } = Status.decode(bytes);
  const types = details.map(({ typeUrl, value }) => {
    if (typeUrl === 'type.googleapis.com/google.rpc.ErrorInfo') return ErrorInfo.decode(value);
    if (typeUrl === 'type.googleapis.com/google.rpc.RetryInfo') return RetryInfo.decode(value);
    return typeUrl;
  });
  return { code, message, details: types };
}

function detailsIn(metadata: Metadata | undefined) {
  const [bytes] = metadata?.get('grpc-status-details-bin') ?? [];
  return Buffer.isBuffer(bytes) ? read(bytes) : undefined;
}

const info = (reason: string) => ({ reason, domain: 'vectord', metadata: {} });
const RETRY = { retryDelay: { seconds: 1n, nanos: 0 } };

async function expectTooLarge(method: string, message: Buffer): Promise<void> {
  const { code, details, metadata } = await client.call(method, message);
  expect(code).toBe(status.RESOURCE_EXHAUSTED);
  expect(detailsIn(metadata)).toEqual({
    code,
    message: details,
    details: [info('REQUEST_TOO_LARGE')],
  });
}

test('a batch that is too large is REQUEST_TOO_LARGE', async () => {
  const item = wire.delimited(1, INSERT);
  await expectTooLarge('InsertVectorsBatch', Buffer.concat([item, item]));
});

// grpc-js refuses it by itself, and its status has no details.
test.skipIf(ON_NICE_GRPC)('a message that is too large is REQUEST_TOO_LARGE', async () => {
  await expectTooLarge('InsertVector', Buffer.alloc(100_001));
});

// grpc-js tells of a message once all of it has come: the holder would hold nothing.
test.skipIf(ON_NICE_GRPC)('an overload is OVERLOADED, and tells when to try again', async () => {
  const holder = new Connection(server.grpc);
  const call = holder.open('InsertVectorsBatch', { authorization: server.keys.readwrite });
  call.stream.write(framed(Buffer.alloc(90_000)).subarray(0, -1));
  await untilInflight(server, 80_000);
  const large = Buffer.concat([INSERT, wire.delimited(9, Buffer.alloc(80_000))]);
  const { code, details, metadata } = await client.call('InsertVectorsBatch', large);
  holder.close();
  expect(code).toBe(status.RESOURCE_EXHAUSTED);
  expect(detailsIn(metadata)).toEqual({
    code,
    message: details,
    details: [info('OVERLOADED'), RETRY],
  });
});

test('what its status says already has no details', async () => {
  const { code, metadata } = await client.call('GetPoint', Buffer.alloc(0));
  expect(code).toBe(status.INVALID_ARGUMENT);
  expect(detailsIn(metadata)).toBeUndefined();
});

test.each<[ErrorCode, unknown[]]>([
  ['STORAGE_FULL', [info('STORAGE_FULL')]],
  ['UNAVAILABLE', [info('UNAVAILABLE'), RETRY]],
  ['OUTCOME_UNKNOWN', [info('OUTCOME_UNKNOWN')]],
])('%s is told apart', (name, details) => {
  const error = new VectordError(name, 'é');
  const text = statusDetails(error.grpcStatus, error) ?? '';
  expect(text).toMatch(/^[A-Za-z0-9+/]+$/);
  expect(read(Buffer.from(text, 'base64'))).toEqual({
    code: error.grpcStatus,
    message: 'é',
    details,
  });
});
