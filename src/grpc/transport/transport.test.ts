import { once } from 'node:events';
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { createServer as createListener, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { compressionAlgorithms } from '@grpc/grpc-js';
import {
  createChannel,
  createClient,
  createServer,
  Metadata,
  ServerError,
  Status,
  type CallContext,
  type CallOptions,
  type Channel,
  type ChannelOptions,
  type Client,
  type ServiceImplementation,
} from 'nice-grpc';
import { afterEach, describe, expect, it } from 'vitest';
import type { OpenCall, Policy } from './policy.js';
import { TransportServer } from './server.js';

const MAX_MESSAGE_BYTES = 1_000_000;

interface Message {
  readonly text: string;
}

/** A codec in the shape of ts-proto. */
const codec = {
  encode: ({ text }: Message) => ({ finish: () => Buffer.from(text) }),
  decode: (bytes: Uint8Array): Message => ({ text: Buffer.from(bytes).toString() }),
};

const method = { requestType: codec, responseType: codec, options: {} } as const;

const EchoDefinition = {
  name: 'Echo',
  fullName: 'test.Echo',
  methods: {
    say: { ...method, name: 'Say', requestStream: false, responseStream: false },
    count: { ...method, name: 'Count', requestStream: false, responseStream: true },
    join: { ...method, name: 'Join', requestStream: true, responseStream: false },
    chat: { ...method, name: 'Chat', requestStream: true, responseStream: true },
  },
} as const;

type Echo = ServiceImplementation<typeof EchoDefinition>;

/** Signals of calls whose handlers wait for their end. */
const waiting: AbortSignal[] = [];

/** What each request asks for. */
const says: Record<string, (context: CallContext) => Promise<string>> = {
  async metadata({ metadata, header, trailer }) {
    header.set('x-header', 'before').set('x-bytes-bin', Buffer.from([0, 255]));
    trailer.set('x-trailer', 'after');
    const bytes = [...(metadata.get('x-sent-bin') ?? [])];
    return JSON.stringify([metadata.get('x-sent'), bytes, metadata.has('grpc-timeout')]);
  },
  async peer({ peer }) {
    return peer;
  },
  async failure({ trailer }) {
    trailer.set('x-trailer', 'after').set('grpc-status-details-bin', Buffer.from([8, 5]));
    throw new ServerError(Status.NOT_FOUND, 'There is no “point” at 100 %\n');
  },
  async fault() {
    throw new Error('a secret');
  },
  async wait({ signal }) {
    waiting.push(signal);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return 'too late';
  },
  async large() {
    return 'x'.repeat(3_000_000);
  },
};

const echo: Echo = {
  async say({ text }, context) {
    return { text: (await says[text]?.(context)) ?? `<${text}>` };
  },
  async *count({ text }) {
    for (let number = 0; number < Number(text); number += 1) {
      yield { text: `${number}`.padEnd(10_000) };
    }
  },
  async join(requests) {
    const all: string[] = [];
    for await (const { text } of requests) all.push(text);
    return { text: all.join('') };
  },
  async *chat(requests) {
    for await (const { text } of requests) {
      if (text === 'fail') throw new ServerError(Status.ABORTED, 'as asked');
      yield { text: `<${text}>` };
    }
  },
};

interface Running {
  readonly port: number;
  shutdown(): Promise<void>;
  forceShutdown(): void;
}

/** The same service on nice-grpc's own server, which says what is right, and on ours. */
const SERVERS: Record<string, () => Promise<Running>> = {
  async 'nice-grpc'() {
    const server = createServer({ 'grpc.max_receive_message_length': MAX_MESSAGE_BYTES });
    server.add(EchoDefinition, echo);
    const port = await server.listen('127.0.0.1:0');
    return { port, shutdown: () => server.shutdown(), forceShutdown: () => server.forceShutdown() };
  },
  async 'our transport'() {
    const messageLimit = { maxBytes: MAX_MESSAGE_BYTES, setting: 'MAX_REQUEST_BYTES' };
    const server = new TransportServer({ messageLimit, policy: everythingGoes });
    server.add(EchoDefinition, echo);
    const listener = createListener((socket) => server.take(socket)).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const close = () => void listener.close();
    return {
      port: (listener.address() as AddressInfo).port,
      async shutdown() {
        close();
        await server.shutdown();
      },
      forceShutdown() {
        close();
        server.forceShutdown();
      },
    };
  },
};

/** The calls that there have been. */
const calls: OpenCall[] = [];
/** Those of them that are over. */
const ended = new Set<OpenCall | undefined>();

/** A policy that refuses nothing. */
const everythingGoes: Policy = {
  connect: () => ({
    isClosing: false,
    noteReset: () => undefined,
    noteCutShort: () => undefined,
    begin: () => {
      let own: OpenCall | undefined;
      return {
        refusal: undefined,
        watch: (call) => {
          own = call;
          calls.push(call);
        },
        received: () => undefined,
        decoded: () => undefined,
        requestEnded: () => undefined,
        sending: () => undefined,
        handled: () => undefined,
        sent: () => undefined,
        answered: () => undefined,
        ended: () => void ended.add(own),
      };
    },
  }),
};

const cleanUps: (() => void)[] = [];
afterEach(() => {
  waiting.length = 0;
  calls.length = 0;
  ended.clear();
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

/** A client of texts. */
class TextClient {
  constructor(private readonly client: Client<typeof EchoDefinition>) {}

  async say(text: string, options?: CallOptions): Promise<string> {
    return (await this.client.say({ text }, options)).text;
  }

  async join(texts: readonly string[]): Promise<string> {
    return (await this.client.join(streamOf(texts))).text;
  }

  async *count(text: string): AsyncGenerator<string> {
    for await (const answer of this.client.count({ text })) yield answer.text;
  }

  async *chat(requests: AsyncIterable<Message>): AsyncGenerator<string> {
    for await (const answer of this.client.chat(requests)) yield answer.text;
  }
}

function clientOf({ port }: Running, options: ChannelOptions = {}): TextClient {
  const channel: Channel = createChannel(`127.0.0.1:${port}`, undefined, {
    'grpc.max_receive_message_length': -1,
    ...options,
  });
  cleanUps.push(() => channel.close());
  return new TextClient(createClient(EchoDefinition, channel));
}

async function sessionOf({ port }: Running): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => undefined);
  await once(session, 'connect');
  // Later: a session that ends within an event of its own corrupts the memory of Node 20.
  cleanUps.push(() => setImmediate(() => session.destroy()));
  return session;
}

interface RawAnswer {
  readonly status: unknown;
  readonly grpcStatus: unknown;
  readonly encodings: unknown;
}

/** A call as bytes: its headers over the usual ones, and what is sent of its body. */
async function rawCall(
  session: ClientHttp2Session,
  headers: Record<string, string>,
  body: Buffer,
): Promise<RawAnswer> {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/test.Echo/Say',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  let first: Record<string, unknown> = {};
  let last: Record<string, unknown> = {};
  stream.on('response', (got) => (first = got)).on('trailers', (got) => (last = got));
  stream.on('error', () => undefined).resume();
  stream.end(body);
  await once(stream, 'close');
  return {
    status: first[':status'],
    grpcStatus: last['grpc-status'] ?? first['grpc-status'],
    encodings: first['grpc-accept-encoding'],
  };
}

function framed(message: string): Buffer {
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.write(message, 5);
  return frame;
}

async function failureOf(promise: Promise<unknown>): Promise<{ code: Status; details: string }> {
  const failure: unknown = await promise.then(
    (answer) => new Error(`answered ${JSON.stringify(answer)}`),
    (error: unknown) => error,
  );
  if (failure instanceof Error && 'code' in failure && 'details' in failure) {
    return { code: failure.code as Status, details: String(failure.details) };
  }
  throw failure;
}

describe.each(Object.entries(SERVERS))('%s', (_, start) => {
  async function started(): Promise<Running> {
    const server = await start();
    cleanUps.push(() => server.forceShutdown());
    return server;
  }

  it('answers a call', async () => {
    expect(await clientOf(await started()).say('hello ✓')).toBe('<hello ✓>');
  });

  it('answers many calls at a time, each with its own answer', async () => {
    const client = clientOf(await started());
    const asked = Array.from({ length: 500 }, (_value, index) => `${index}`);
    const answers = await Promise.all(asked.map(async (request) => await client.say(request)));
    expect(answers).toEqual(asked.map((request) => `<${request}>`));
  });

  it('brings metadata both ways, binary values too', async () => {
    const client = clientOf(await started());
    const metadata = Metadata({ 'x-sent': 'value', 'x-sent-bin': Buffer.from([1, 2, 0]) });
    let [header, trailer] = [Metadata(), Metadata()];
    const answer = await client.say('metadata', {
      metadata,
      onHeader: (got) => (header = got),
      onTrailer: (got) => (trailer = got),
    });
    expect(JSON.parse(answer)).toEqual(['value', [1, 2, 0], false]);
    expect(header.get('x-header')).toBe('before');
    expect([...(header.get('x-bytes-bin') ?? [])]).toEqual([0, 255]);
    expect(trailer.get('x-trailer')).toBe('after');
  });

  it('tells the handler where a call comes from', async () => {
    expect(await clientOf(await started()).say('peer')).toMatch(/^127\.0\.0\.1:\d+$/);
  });

  it('answers failures with code, any text and trailer', async () => {
    const client = clientOf(await started());
    let trailer = Metadata();
    const failure = await failureOf(client.say('failure', { onTrailer: (got) => (trailer = got) }));
    expect(failure).toEqual({ code: Status.NOT_FOUND, details: 'There is no “point” at 100 %\n' });
    expect(trailer.get('x-trailer')).toBe('after');
    expect([...(trailer.get('grpc-status-details-bin') ?? [])]).toEqual([8, 5]);
  });

  it('says nothing of a fault', async () => {
    const { code, details } = await failureOf(clientOf(await started()).say('fault'));
    expect(code).toBe(Status.UNKNOWN);
    expect(details).not.toContain('secret');
  });

  it('answers UNIMPLEMENTED to a method that there is not', async () => {
    const session = await sessionOf(await started());
    const answer = await rawCall(session, { ':path': '/test.Echo/Shout' }, framed('x'));
    expect(answer).toMatchObject({ status: 200, grpcStatus: String(Status.UNIMPLEMENTED) });
  });

  it.each(['application/json', ''])('answers 415 to the content type %j', async (type) => {
    const session = await sessionOf(await started());
    const answer = await rawCall(session, { 'content-type': type }, framed('x'));
    expect(answer.status).toBe(415);
  });

  it.each(['application/grpc', 'application/grpc+proto', 'application/grpc; charset=utf-8'])(
    'takes the content type %j',
    async (type) => {
      const session = await sessionOf(await started());
      const answer = await rawCall(session, { 'content-type': type }, framed('x'));
      expect(answer).toMatchObject({ status: 200, grpcStatus: String(Status.OK) });
    },
  );

  it('ends a call at its deadline and tells the handler', async () => {
    const session = await sessionOf(await started());
    const begun = performance.now();
    const answer = await rawCall(session, { 'grpc-timeout': '200m' }, framed('wait'));
    expect(performance.now() - begun).toBeGreaterThan(190);
    expect(answer.grpcStatus).toBe(String(Status.DEADLINE_EXCEEDED));
    await until(() => waiting[0]?.aborted === true);
  });

  it('lets a call go on for its deadline', async () => {
    const session = await sessionOf(await started());
    const answers = ['300S', '99999999u', '500000H'].map(
      async (timeout) => await rawCall(session, { 'grpc-timeout': timeout }, framed('x')),
    );
    for (const answer of await Promise.all(answers)) expect(answer.grpcStatus).toBe('0');
  });

  it('tells the handler that a client has gone', async () => {
    const client = clientOf(await started());
    const abort = new AbortController();
    const call = client.say('wait', { signal: abort.signal });
    call.catch(() => undefined);
    await until(() => waiting.length === 1);
    expect(waiting[0]?.aborted).toBe(false);
    abort.abort();
    await expect(call).rejects.toThrow('aborted');
    await until(() => waiting[0]?.aborted === true);
  });

  it('takes a message of the largest size and refuses a larger one', async () => {
    const client = clientOf(await started());
    const largest = 'x'.repeat(MAX_MESSAGE_BYTES);
    expect(await client.say(largest)).toHaveLength(MAX_MESSAGE_BYTES + 2);
    const { code, details } = await failureOf(client.say(`${largest}x`));
    expect(code).toBe(Status.RESOURCE_EXHAUSTED);
    expect(details).toContain(String(MAX_MESSAGE_BYTES + 1));
  });

  it('answers with a message of any size', async () => {
    expect(await clientOf(await started()).say('large')).toHaveLength(3_000_000);
  });

  it.each([
    ['gzip', compressionAlgorithms.gzip],
    ['deflate', compressionAlgorithms.deflate],
  ])('reads %s', async (_name, algorithm) => {
    const client = clientOf(await started(), { 'grpc.default_compression_algorithm': algorithm });
    const request = 'x'.repeat(50_000);
    expect(await client.say(request)).toBe(`<${request}>`);
    expect(await client.say('y')).toBe('<y>');
    const { code } = await failureOf(client.say('x'.repeat(MAX_MESSAGE_BYTES + 1)));
    expect(code).toBe(Status.RESOURCE_EXHAUSTED);
  });

  it('answers UNIMPLEMENTED to an encoding that there is not, and names those that there are', async () => {
    const session = await sessionOf(await started());
    const compressed = framed('x');
    compressed[0] = 1;
    const answer = await rawCall(session, { 'grpc-encoding': 'zstd' }, compressed);
    expect(answer.grpcStatus).toBe(String(Status.UNIMPLEMENTED));
  });

  it('streams answers at the pace of the client', async () => {
    const client = clientOf(await started());
    let number = 0;
    for await (const answer of client.count('300')) {
      expect(Number(answer)).toBe(number);
      number += 1;
      if (number % 100 === 0) await sleep(20);
    }
    expect(number).toBe(300);
  });

  it('lets a client stop reading', async () => {
    const client = clientOf(await started());
    for await (const answer of client.count('100000')) {
      if (Number(answer) === 5) break;
    }
    expect(await client.say('x')).toBe('<x>');
  });

  it('reads a stream of requests', async () => {
    const client = clientOf(await started());
    const requests = Array.from({ length: 200 }, (_value, index) => `${index},`);
    expect(await client.join(requests)).toBe(requests.join(''));
    expect(await client.join([])).toBe('');
  });

  it('answers each request of a stream before the next comes', async () => {
    const client = clientOf(await started());
    let answered: () => void = () => undefined;
    async function* requests(): AsyncGenerator<Message> {
      for (const text of ['a', 'b', 'c']) {
        const wait = new Promise<void>((resolve) => (answered = resolve));
        yield { text };
        await wait;
      }
    }
    const answers: string[] = [];
    for await (const answer of client.chat(requests())) {
      answers.push(answer);
      answered();
    }
    expect(answers).toEqual(['<a>', '<b>', '<c>']);
  });

  it('ends a stream with the failure of its handler', async () => {
    const client = clientOf(await started());
    const answers: string[] = [];
    const read = async (): Promise<void> => {
      for await (const answer of client.chat(streamOf(['a', 'fail']))) answers.push(answer);
    };
    expect(await failureOf(read())).toEqual({ code: Status.ABORTED, details: 'as asked' });
    expect(answers).toEqual(['<a>']);
  });

  it('answers what is under way before it stops, and nothing later', async () => {
    const server = await started();
    const session = await sessionOf(server);
    const pending = rawCall(session, { 'grpc-timeout': '300m' }, framed('wait'));
    await until(() => waiting.length === 1);
    const stopped = server.shutdown();
    expect((await pending).grpcStatus).toBe(String(Status.DEADLINE_EXCEEDED));
    await stopped;
    await expect(sessionOf(server)).rejects.toThrow('ECONNREFUSED');
  });

  it('cuts what is under way when it must', async () => {
    const server = await started();
    const call = clientOf(server).say('wait');
    call.catch(() => undefined);
    await until(() => waiting.length === 1);
    server.forceShutdown();
    const { details } = await failureOf(call);
    expect(details).not.toBe('');
    await until(() => waiting[0]?.aborted === true);
  });
});

describe("our transport, where nice-grpc's server is wrong", () => {
  async function started(): Promise<ClientHttp2Session> {
    const server = await SERVERS['our transport']?.();
    if (server === undefined) throw new Error('there is no such server');
    cleanUps.push(() => server.forceShutdown());
    return await sessionOf(server);
  }

  it.each([
    ['a message that is cut off', {}, framed('hello').subarray(0, 7)],
    ['a prefix that is cut off', {}, Buffer.alloc(3)],
    ['a flag that there is not', {}, Buffer.from([2, 0, 0, 0, 0])],
    ['a compressed message without an encoding', {}, Buffer.from([1, 0, 0, 0, 1, 65])],
    ['broken gzip', { 'grpc-encoding': 'gzip' }, Buffer.from([1, 0, 0, 0, 1, 65])],
    ['a deadline that is none', { 'grpc-timeout': '1 hour' }, framed('x')],
  ])('answers INVALID_ARGUMENT to %s', async (_name, headers, body) => {
    const session = await started();
    const answer = await rawCall(session, headers, body);
    expect(answer.grpcStatus).toBe(String(Status.INVALID_ARGUMENT));
    expect((await rawCall(session, {}, framed('x'))).grpcStatus).toBe('0');
  });

  it.each([
    ['no message', Buffer.alloc(0)],
    ['two messages', Buffer.concat([framed('a'), framed('b')])],
  ])('answers UNIMPLEMENTED to %s where a method takes one', async (_name, body) => {
    const session = await started();
    const answer = await rawCall(session, {}, body);
    expect(answer.grpcStatus).toBe(String(Status.UNIMPLEMENTED));
  });

  it.each(['application/grpc+json', 'application/grpc-web+proto', 'application/grpcfoo'])(
    'answers 415 to the content type %j, where nice-grpc takes it for protobuf',
    async (type) => {
      const session = await started();
      const answer = await rawCall(session, { 'content-type': type }, framed('x'));
      expect(answer.status).toBe(415);
    },
  );

  it('takes a content type in capitals, which nice-grpc refuses', async () => {
    const session = await started();
    const answer = await rawCall(session, { 'content-type': 'Application/gRPC' }, framed('x'));
    expect(answer).toMatchObject({ status: 200, grpcStatus: String(Status.OK) });
  });

  it('reads messages in chunks of any size', async () => {
    const session = await started();
    const stream = session.request({
      ':method': 'POST',
      ':path': '/test.Echo/Say',
      'content-type': 'application/grpc',
    });
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    for (const byte of framed('hello')) {
      stream.write(Buffer.of(byte));
      await sleep(1);
    }
    stream.end();
    await once(stream, 'close');
    expect(Buffer.concat(chunks).subarray(5).toString()).toBe('<hello>');
  });

  it('names the encodings that it knows', async () => {
    const session = await started();
    const answer = await rawCall(session, { 'grpc-encoding': 'zstd' }, framed('x'));
    expect(answer.encodings).toBe('identity,gzip,deflate');
  });

  it('knows when more of a request has to come', async () => {
    const session = await started();
    const open = (path: string): ClientHttp2Stream =>
      session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
    const message = framed('x'.repeat(1_000));
    const half = message.subarray(0, 500);
    const single = open('/test.Echo/Say');
    single.write(message);
    await until(() => calls[0]?.awaitsMore === true);

    const stream = open('/test.Echo/Chat');
    await until(() => calls.length === 2);
    expect(calls[1]?.awaitsMore).toBe(false);
    stream.write(half);
    await until(() => calls[1]?.awaitsMore === true);
    stream.write(message.subarray(500));
    await until(() => calls[1]?.awaitsMore === false);
    // Its answers are not read: the messages wait for their handler, and no more is read of it.
    stream.write(Buffer.concat([...Array<Buffer>(500).fill(message), half]));
    await sleep(200);
    expect(calls[1]?.awaitsMore).toBe(false);
    stream.resume();
    await until(() => calls[1]?.awaitsMore === true);
  });

  it('lets go of what waits unread of a call that has failed', async () => {
    const session = await started();
    const stream = session.request({
      ':method': 'POST',
      ':path': '/test.Echo/Chat',
      'content-type': 'application/grpc',
    });
    stream.on('error', () => undefined);
    // Its answers are not read: the messages wait for their handler, and no more is read of it.
    stream.write(Buffer.concat(Array<Buffer>(500).fill(framed('x'.repeat(1_000)))));
    await until(() => (calls[0]?.unreadBytes ?? 0) > 0);
    calls[0]?.fail(new ServerError(Status.DEADLINE_EXCEEDED, 'late'));
    await until(() => calls[0]?.unreadBytes === 0);
    stream.resume();
    await once(stream, 'close');
    await until(() => ended.has(calls[0]));
    expect(stream.rstCode).toBe(0);
  });

  it('tells a client that still sends that nobody reads it', async () => {
    const session = await started();
    const stream = session.request({
      ':method': 'POST',
      ':path': '/test.Echo/Shout',
      'content-type': 'application/grpc',
    });
    stream.on('error', () => undefined).resume();
    stream.write(Buffer.alloc(10));
    await once(stream, 'close');
    expect(stream.rstCode).toBe(0);
  });
});

async function* streamOf(texts: readonly string[]): AsyncGenerator<Message> {
  for (const text of texts) yield { text };
}

async function until(isSo: () => boolean): Promise<void> {
  const begun = performance.now();
  while (!isSo()) {
    if (performance.now() - begun > 10_000) throw new Error('it did not happen within 10 s');
    await sleep(5);
  }
}
