import { afterAll, expect } from 'vitest';
import {
  connect,
  VectordError,
  type Client,
  type ConnectOptions,
  type ErrorCode,
} from '../../src/client/node.js';
import type { TestServer } from '../support/server.js';

export const PROTOCOLS = ['http', 'grpc'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** An id that no test stores. */
export const UNKNOWN = '9f3c1d52-6f0e-4c8e-9a51-0a4f5f1f6f0b';

const opened: Client[] = [];

afterAll(() => {
  for (const client of opened) client.close();
});

export function addressOf({ http, grpc }: TestServer, protocol: Protocol): string {
  return protocol === 'http' ? http : `grpc://${grpc}`;
}

/** A client of one interface, with the readwrite key unless told otherwise; closed after all tests. */
export function open(server: TestServer, protocol: Protocol, options: ConnectOptions = {}): Client {
  const { readwrite: key } = server.keys;
  const client = connect(addressOf(server, protocol), { key, ...options });
  opened.push(client);
  return client;
}

/** The ids that tests choose. */
export function id(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
}

/** How a call fails that has to. */
export async function failureOf(call: Promise<unknown>): Promise<VectordError> {
  const failure = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(VectordError);
  return failure as VectordError;
}

export async function expectFailure(
  call: Promise<unknown>,
  code: ErrorCode,
  message: RegExp,
): Promise<void> {
  const failure = await failureOf(call);
  expect(failure.message).toMatch(message);
  expect(failure.code).toBe(code);
}

/** Fails as a call does that is refused before it is sent; the message begins so. */
export async function expectInvalid(call: Promise<unknown>, message: string): Promise<void> {
  const { code, message: found, requestId } = await failureOf(call);
  expect(found.slice(0, message.length)).toBe(message);
  // The service has not answered.
  expect([code, requestId]).toEqual(['INVALID_ARGUMENT', undefined]);
}

export async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}
