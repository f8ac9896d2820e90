import { setTimeout as sleep } from 'node:timers/promises';
import fc, { type Arbitrary } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FUZZ_TIMEOUT_MS, fuzzing } from '../support/fuzz.js';
import { MAIN, ownFolder, Vectord } from '../support/vectord.js';
import {
  BEGIN,
  connectTo,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  GOAWAY,
  HEADERS,
  headOf,
  literal,
  PING,
  resetCalls,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from './raw-http2.js';

/*
 * Frames in any order, on connections that end in the midst of them: whatever comes before the end or
 * behind it, the process goes on. Node aborts where it meets a state of HTTP/2 that it does not expect.
 */

/** The ids of the streams of one connection: a client opens 1, 3, 5 and so on. */
class Streams {
  #next = 1;

  open(count = 1): number {
    const first = this.#next;
    this.#next += 2 * count;
    return first;
  }

  /** One that it has opened, or the next. */
  some(choice: number): number {
    return 1 + 2 * (choice % ((this.#next + 1) / 2));
  }
}

/** Frames that are sent in one piece, on such streams as the connection has by then. */
type Piece = (streams: Streams) => Buffer;

const KEY = ['authorization', 'the-key'] as const;

const path = fc.constantFrom(
  '/vectordb.VectorDB/GetPoint',
  '/vectordb.VectorDB/InsertVector',
  '/vectord.v1.PointsService/ScrollStream',
  '/vectord.v1.PointsService/UpsertStream',
  '/grpc.health.v1.Health/Watch',
  '/none',
  // Node refuses it before the service hears of the call.
  '*',
);
const isLast = fc.boolean().map((is) => (is ? END_STREAM : 0));
const head = fc
  .tuple(path, fc.boolean())
  .map(([of, isKeyed]) => (isKeyed ? headOf(of, KEY) : headOf(of)));
const content = fc.constantFrom(
  Buffer.alloc(0),
  Buffer.alloc(5),
  Buffer.of(0, 0, 0, 0, 10),
  Buffer.of(1, 0, 0, 0, 3, 1, 2, 3),
  Buffer.alloc(16_384),
);
const choice = fc.nat(50);

const call: Arbitrary<Piece> = fc.tuple(head, isLast).map(
  ([block, last]) =>
    (streams) =>
      frame(HEADERS, END_HEADERS | last, streams.open(), block),
);
const callWithMessage: Arbitrary<Piece> = fc
  .tuple(head, content, isLast)
  .map(([block, bytes, last]) => (streams) => {
    const stream = streams.open();
    return Buffer.concat([
      frame(HEADERS, END_HEADERS, stream, block),
      frame(DATA, last, stream, bytes),
    ]);
  });
const headInPieces: Arbitrary<Piece> = fc
  .tuple(head, fc.constantFrom(0, END_HEADERS))
  .map(([block, flags]) => (streams) => {
    const stream = streams.open();
    return Buffer.concat([
      frame(HEADERS, 0, stream, block),
      frame(CONTINUATION, flags, stream, literal(['y', 'z'])),
    ]);
  });
const brokenHead: Arbitrary<Piece> = fc
  .constantFrom(
    Buffer.alloc(3, 0xff),
    headOf('/none', ['connection', 'x']),
    headOf('/none', ['x', '\0']),
    literal(['a', 'b']),
  )
  .map((block) => (streams) => frame(HEADERS, END_HEADERS, streams.open(), block));
const message: Arbitrary<Piece> = fc.tuple(choice, content, isLast).map(
  ([nth, bytes, last]) =>
    (streams) =>
      frame(DATA, last, streams.some(nth), bytes),
);
const trailers: Arbitrary<Piece> = choice.map(
  (nth) => (streams) =>
    frame(HEADERS, END_HEADERS | END_STREAM, streams.some(nth), literal(['trailer', 'x'])),
);
const reset: Arbitrary<Piece> = fc.tuple(choice, fc.nat(13)).map(
  ([nth, code]) =>
    (streams) =>
      frame(RST_STREAM, 0, streams.some(nth), Buffer.of(0, 0, 0, code)),
);
const resets: Arbitrary<Piece> = fc.tuple(path, fc.constantFrom(3, 40, 1_200)).map(
  ([of, count]) =>
    (streams) =>
      resetCalls(of, streams.open(count), count),
);
const window: Arbitrary<Piece> = fc
  .tuple(choice, fc.constantFrom('00000001', '7fffffff', '00000000'))
  .map(
    ([nth, by]) =>
      (streams) =>
        frame(WINDOW_UPDATE, 0, streams.some(nth), Buffer.from(by, 'hex')),
  );
/** What concerns the connection as a whole: much of it ends it. */
const whole: Arbitrary<Piece> = fc
  .constantFrom(
    frame(GOAWAY, 0, 0, Buffer.alloc(8)),
    frame(GOAWAY, 0, 0, Buffer.from('0000000000000002', 'hex')),
    frame(PING, 0, 0, Buffer.alloc(8)),
    Buffer.concat(Array<Buffer>(1_500).fill(frame(PING, 0, 0, Buffer.alloc(8)))),
    Buffer.concat(Array<Buffer>(1_100).fill(frame(SETTINGS, 0, 0, Buffer.alloc(0)))),
    frame(SETTINGS, 0, 0, Buffer.from('000400000000', 'hex')),
    frame(SETTINGS, 0, 0, Buffer.from('0004ffffffff', 'hex')),
    frame(WINDOW_UPDATE, 0, 0, Buffer.from('7fffffff', 'hex')),
    frame(CONTINUATION, END_HEADERS, 1, Buffer.of(0)),
    frame(DATA, 0, 0, Buffer.of(0)),
    // No client may open it.
    frame(DATA, 0, 2, Buffer.of(0)),
    frame(77, 0, 0, Buffer.alloc(5)),
    Buffer.alloc(40, 0xff),
  )
  .map((bytes) => () => bytes);

const piece = fc.oneof(
  { weight: 3, arbitrary: call },
  { weight: 3, arbitrary: callWithMessage },
  { weight: 3, arbitrary: message },
  headInPieces,
  brokenHead,
  trailers,
  reset,
  resets,
  window,
  { weight: 2, arbitrary: whole },
);

/** What one client sends, each of these lists at once, and how it leaves. */
const client = fc.record({
  writes: fc.array(fc.array(piece, { minLength: 1, maxLength: 20 }), {
    minLength: 1,
    maxLength: 3,
  }),
  pauseMs: fc.nat(4),
  reads: fc.boolean(),
  ends: fc.boolean(),
});

const SERVERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'clients that are trusted': { TRUSTED_PROXIES: '127.0.0.1' },
  'clients that are strangers': {},
};

describe.each(Object.keys(SERVERS))('from %s', (name) => {
  test(
    'frames in any order do not end the process',
    async () => {
      const { environment } = ownFolder();
      // Node collects garbage often, and so frees what nothing holds.
      const command = [process.execPath, '--gc-interval=1000', MAIN];
      const settings = { ...environment, ...SERVERS[name] };
      const vectord = await Vectord.start(settings, { command });
      const address = vectord.value('gRPC');
      const clients = fc.array(client, { minLength: 1, maxLength: 6 });
      await fc.assert(
        fc.asyncProperty(clients, async (some) => {
          await Promise.all(some.map(async (one) => await play(address, one)));
          expect(vectord.process.exitCode ?? vectord.process.signalCode).toBe(null);
        }),
        fuzzing(80),
      );
      expect(await vectord.insert('the-key')).toBe(201);
      expect(vectord.stderr).not.toMatch(/"level":"(error|fatal)"|Assertion/);
    },
    FUZZ_TIMEOUT_MS,
  );
});

type Client = typeof client extends Arbitrary<infer One> ? One : never;

async function play(address: string, { writes, pauseMs, reads, ends }: Client): Promise<void> {
  const socket = connectTo(address);
  socket.on('error', () => {}).setNoDelay();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  if (reads) socket.resume();
  const streams = new Streams();
  let before = BEGIN;
  for (const pieces of writes) {
    socket.write(Buffer.concat([before, ...pieces.map((make) => make(streams))]));
    before = Buffer.alloc(0);
    await sleep(pauseMs);
  }
  if (ends) socket.end();
  await sleep(20);
  socket.destroy();
  await closed;
}
