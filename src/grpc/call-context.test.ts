import { setImmediate } from 'node:timers/promises';
import { Client, credentials, Metadata as SentMetadata, status } from '@grpc/grpc-js';
import { createServer, type CallContext, type Server } from 'nice-grpc';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { HealthDefinition } from '../gen/grpc/health/v1/health.js';
import { makeCallContextsLazy } from './call-context.js';

const { check } = HealthDefinition.methods;
const CHECK = `/${HealthDefinition.fullName}/${check.name}`;

type Handler = (context: CallContext) => Promise<void>;

makeCallContextsLazy();

let server: Server;
let client: Client;
let handler: Handler;

beforeEach(async () => {
  server = createServer();
  server.add(
    { ...HealthDefinition, methods: { check } },
    {
      async check(_request, context) {
        await handler(context);
        return { status: 1 };
      },
    },
  );
  const port = await server.listen('127.0.0.1:0');
  client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
});

afterEach(async () => {
  client.close();
  await server.shutdown();
  vi.unstubAllGlobals();
});

/** What a client hears of its call. */
interface Heard {
  code: number;
  header: Record<string, unknown>;
  trailer: Record<string, unknown>;
}

/** Calls the handler; `giveUp` resolves when the client wants no answer any more. */
async function call(sent: Record<string, string> = {}, giveUp?: Promise<void>): Promise<Heard> {
  const metadata = new SentMetadata();
  for (const [name, value] of Object.entries(sent)) metadata.set(name, value);
  return await new Promise((resolve) => {
    let header = {};
    const same = (bytes: Buffer): Buffer => bytes;
    const under = client.makeUnaryRequest(CHECK, same, same, Buffer.alloc(0), metadata, () => {});
    under.on('metadata', (received) => {
      header = received.getMap();
    });
    under.on('status', ({ code, metadata: trailer }) =>
      resolve({ code, header, trailer: trailer.getMap() }),
    );
    void giveUp?.then(() => under.cancel());
  });
}

test('a handler hears what its client sends, and its header and trailer reach the client', async () => {
  let received: unknown;
  handler = async (context) => {
    received = [context.metadata.get('x-asked'), context.peer];
    context.header.set('x-first', 'one');
    context.sendHeader();
    context.trailer.set('x-last', 'two');
  };
  const heard = await call({ 'x-asked': 'this' });
  expect(heard.code).toBe(status.OK);
  expect(received).toEqual(['this', expect.stringMatching(/^127\.0\.0\.1:\d+$/)]);
  expect(heard.header).toMatchObject({ 'x-first': 'one' });
  expect(heard.trailer).toMatchObject({ 'x-last': 'two' });
});

test('nothing is made that a handler does not ask for', async () => {
  let made = 0;
  class Counted extends AbortController {
    constructor() {
      super();
      made += 1;
    }
  }
  vi.stubGlobal('AbortController', Counted);
  handler = async () => {};
  expect((await call()).code).toBe(status.OK);
  expect(made).toBe(0);
  handler = async ({ signal }) => signal.throwIfAborted();
  expect((await call()).code).toBe(status.OK);
  expect(made).toBe(1);
});

test('the signal is aborted when its client gives the call up', async () => {
  let aborted: Promise<void> | undefined;
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  handler = async ({ signal }) => {
    aborted = new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
    begin();
    await aborted;
  };
  expect((await call({}, begun)).code).toBe(status.CANCELLED);
  await aborted;
});

test('a signal that is asked for after the client has gone is aborted already', async () => {
  let begin = (): void => {};
  let goOn = (): void => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const cancelled = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const isAborted = new Promise<boolean>((resolve) => {
    handler = async (context) => {
      begin();
      await cancelled;
      resolve(context.signal.aborted);
    };
  });
  await call({}, begun);
  // The server hears of it on a connection of its own.
  for (let turn = 0; turn < 100; turn += 1) {
    // oxlint-disable-next-line no-await-in-loop -- the wait is what the loop is for
    await setImmediate();
  }
  goOn();
  expect(await isAborted).toBe(true);
});

test('the signal of a call that was answered stays as it is', async () => {
  let kept: CallContext | undefined;
  handler = async (context) => {
    kept = context;
    expect(context.signal.aborted).toBe(false);
  };
  expect((await call()).code).toBe(status.OK);
  await setImmediate();
  expect(kept?.signal.aborted).toBe(false);
});
