import { deflateSync, gzipSync } from 'node:zlib';
import { constants } from 'node:http2';
import { status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { countPoints } from '../support/count-points.js';
import { FUZZ_TIMEOUT_MS, fuzzing } from '../support/fuzz.js';
import {
  fields,
  insert,
  messageField,
  pointId,
  reflectionRequest,
  search,
  unknownField,
} from '../support/messages.js';
import { mutated } from '../support/mutate.js';
import * as protobuf from '../support/reference-protobuf.js';
import { startServer, type TestServer } from '../support/server.js';
import * as wire from '../support/wire.js';
import { Connection, NO_STATUS, framed } from './http2-call.js';
import { DIMENSION, expectAnswer, METHODS, type Item, type Method } from './model.js';

/*
 * Messages and frames that nobody would write, to every method: each call ends as the contract
 * says, what is refused is not stored, and afterwards all is served as before.
 */

const CHECK = '/grpc.health.v1.Health/Check';
const WATCH = '/grpc.health.v1.Health/Watch';
const REFLECTIONS = ['v1', 'v1alpha'].map(
  (version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
);

/** A call that has not been answered by then hangs. */
const HANG_MS = 20_000;
const HANGS = -2;

/** Enough that some are left to delete for a while. */
const DOOMED_POINTS = 100;

const FRAME_HEADER_BYTES = 5;

/** What a client may be told of a message or a frame that is wrong. */
const BLAMED = [
  status.OK,
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.RESOURCE_EXHAUSTED,
  status.UNIMPLEMENTED,
];

let server: TestServer;
let connection: Connection;
/** Points that stay, and points that may be deleted. */
let kept: string[];
let doomed: string[];
let before: unknown;

beforeAll(async () => {
  server = await startServer({ dimension: DIMENSION });
  connection = new Connection(server.grpc);
  kept = await insertPoints(3);
  doomed = await insertPoints(DOOMED_POINTS);
});

beforeEach(async () => {
  before = await answers();
});

afterEach(async () => {
  expect(await answers()).toEqual(before);
});

afterAll(async () => {
  connection.close();
  expect(server.log()).not.toMatch(/"level":"(error|fatal)"/);
});

interface Reply {
  readonly code: number;
  /** The message of the answer. */
  readonly message: Buffer;
}

/** Sends bytes as they are, in pieces, and ends the request. */
async function send(
  method: string,
  pieces: readonly Uint8Array[],
  headers: Record<string, string> = {},
): Promise<Reply> {
  const key = { authorization: server.keys.readwrite };
  const { stream, status: ended } = connection.open(method, { ...key, ...headers });
  const received: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => received.push(chunk));
  // This one goes on for as long as its client wants.
  const answered = new Promise<number>((resolve) => {
    if (method === WATCH) stream.once('data', () => resolve(status.OK));
  });
  for (const piece of pieces) stream.write(piece);
  stream.end();
  let timer: NodeJS.Timeout | undefined;
  const hangs = new Promise<number>((resolve) => {
    timer = setTimeout(() => resolve(HANGS), HANG_MS);
  });
  const code = await Promise.race([ended, answered, hangs]);
  clearTimeout(timer);
  if (method === WATCH) stream.close(constants.NGHTTP2_CANCEL);
  return { code, message: Buffer.concat(received).subarray(FRAME_HEADER_BYTES) };
}

/** What goes on a connection of its own: one on which too many calls are cancelled is closed. */
async function sendAll<Value>(
  values: readonly Value[],
  sendOne: (value: Value) => Promise<void>,
): Promise<void> {
  connection.close();
  connection = new Connection(server.grpc);
  await Promise.all(values.map(sendOne));
}

async function call(method: string, message: Uint8Array): Promise<Reply> {
  return await send(method, [framed(message)]);
}

async function insertPoints(count: number): Promise<string[]> {
  const point = wire.delimited(1, wire.insertRequest([9e37, 9e37, 9e37, 9e37], 'kept'));
  const { message } = await call('InsertVectorsBatch', Buffer.alloc(point.length * count, point));
  return idsIn(message);
}

const IDS: protobuf.Schema = new Map([[1, ['ids', { messages: protobuf.POINT_ID }]]]);
const POINT: protobuf.Schema = new Map([
  [1, ['id', { message: protobuf.POINT_ID }]],
  [2, ['payload', { message: protobuf.PAYLOAD }]],
  [3, ['vector', { message: protobuf.DENSE_VECTOR }]],
]);

function idsIn(message: Uint8Array): string[] {
  const { ids } = protobuf.decode(IDS, message) as { ids: { id: { value: string } }[] };
  return ids.map(({ id }) => id.value);
}

function idMessage(id: string): Buffer {
  return wire.delimited(1, wire.delimited(1, id));
}

/** What the service says of itself and of the points that stay. */
async function answers(): Promise<unknown> {
  const nearest = wire.searchRequest([9e37, 9e37, 9e37, 9e37], 3);
  return await Promise.all([
    call(CHECK, Buffer.alloc(0)),
    call('SearchPoints', nearest),
    ...kept.map((id) => call('GetPoint', idMessage(id))),
  ]);
}

/** Vectors of which few hold what is no number, in one message or in two that are to be merged. */
const vector = fc
  .tuple(
    fc.array(fc.oneof({ weight: 40, arbitrary: fc.float({ noNaN: true }) }, fc.float()), {
      minLength: DIMENSION,
      maxLength: DIMENSION,
    }),
    fc.nat(DIMENSION),
    fc.shuffledSubarray([wire.packed, wire.unpacked], { minLength: 2 }),
    fc.boolean(),
  )
  .map(([values, at, [first = wire.packed, second = wire.packed], isTwo]) => {
    const [start, end] = [first(values.slice(0, at)), second(values.slice(at))];
    return isTwo
      ? [wire.delimited(1, start), wire.delimited(1, end)]
      : [wire.delimited(1, start, end)];
  });

const payload = fc
  .tuple(fc.constantFrom(0, 1), fc.string({ unit: 'grapheme' }), fc.boolean())
  .map(([type, text, isTwo]) => {
    const [kind, content] = [wire.integer(1, type), wire.delimited(2, text)];
    return isTwo
      ? [wire.delimited(2, kind), wire.delimited(2, content)]
      : [wire.delimited(2, kind, content)];
  });

/** A message of these fields in any order, and of fields that nobody knows. */
function messageOf(...known: fc.Arbitrary<Buffer[]>[]): fc.Arbitrary<Buffer> {
  return fc
    .tuple(fc.array(unknownField, { maxLength: 1 }), ...known)
    .map((parts) => parts.flat())
    .chain((parts) => fc.shuffledSubarray(parts, { minLength: parts.length }))
    .map((parts) => Buffer.concat(parts));
}

/** A field whose last value counts. */
function integers<Value extends number | bigint>(
  number: number,
  value: fc.Arbitrary<Value>,
): fc.Arbitrary<Buffer[]> {
  return fc.array(
    value.map((one) => wire.integer(number, one)),
    { minLength: 1, maxLength: 2 },
  );
}

const count = fc.constantFrom(1n, 2n, 10n, 2n ** 31n, 2n ** 53n + 1n, 2n ** 64n - 1n);
const point = messageOf(vector, payload);
const query = messageOf(
  vector,
  integers(2, fc.nat(3)),
  integers(3, count),
  integers(4, fc.oneof(fc.constant(0n), count)),
);

/** Messages of one method: what is sent to it, and what somebody might want to send. */
function messagesOf(method: Method): { likely: fc.Arbitrary<Buffer>; any: fc.Arbitrary<Buffer> } {
  const batch = (item: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> =>
    fc.array(messageField(1, item), { maxLength: 3 }).map((items) => Buffer.concat(items));
  switch (method) {
    case 'InsertVector':
      return { likely: point, any: insert };
    case 'InsertVectorsBatch':
      return { likely: batch(point), any: fields(messageField(1, insert)) };
    case 'SearchPoints':
      return { likely: query, any: search };
    case 'SearchPointsBatch':
      return { likely: batch(query), any: fields(messageField(1, search)) };
    default: {
      const ids = method === 'GetPoint' ? kept : doomed;
      return { likely: fc.constantFrom(...ids).map(idMessage), any: pointId(ids) };
    }
  }
}

/** As many of them as make a call that waits for another worth while. */
function several<Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value[]> {
  return fc.array(value, { minLength: 1, maxLength: 16 });
}

function oddMessages(method: Method): fc.Arbitrary<Buffer[]> {
  const { likely, any } = messagesOf(method);
  const noise = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));
  return several(fc.oneof(likely, mutated(likely), mutated(likely), any, mutated(any), noise));
}

describe('messages that nobody would write are answered as the contract says', () => {
  test.each(['InsertVector', 'InsertVectorsBatch'] as const)(
    '%s, which stores nothing of what it refuses',
    async (method) => {
      let points = await countPoints(server);
      const run = async (bytes: Buffer): Promise<void> => {
        const { code, items } = expectAnswer(method, bytes, () => false);
        const reply = await call(method, bytes);
        expect(status[reply.code]).toBe(status[code]);
        if (code !== status.OK) return;
        const { message } = reply;
        const ids = method === 'InsertVector' ? idsIn(wire.delimited(1, message)) : idsIn(message);
        expect(ids.length).toBe(items.length);
        points += ids.length;
        await Promise.all(ids.map(async (id, index) => expectStored(id, items[index])));
      };
      await fc.assert(
        fc.asyncProperty(oddMessages(method), async (all) => sendAll(all, run)),
        fuzzing(40),
      );
      expect(await countPoints(server)).toBe(points);
    },
    FUZZ_TIMEOUT_MS,
  );

  test.each(['GetPoint', 'SearchPoints', 'SearchPointsBatch'] as const)(
    '%s',
    async (method) => {
      const run = async (bytes: Buffer): Promise<void> => {
        const { code } = expectAnswer(method, bytes, (id) => kept.includes(id));
        expect(status[(await call(method, bytes)).code]).toBe(status[code]);
      };
      await fc.assert(
        fc.asyncProperty(oddMessages(method), async (all) => sendAll(all, run)),
        fuzzing(40),
      );
    },
    FUZZ_TIMEOUT_MS,
  );

  test(
    'DeletePoint, which deletes what it is told to and nothing else',
    async () => {
      const live = new Set(doomed);
      const others = (await countPoints(server)) - live.size;
      await fc.assert(
        fc.asyncProperty(oddMessages('DeletePoint'), async (messages) => {
          for (const bytes of messages) {
            const { code, id } = expectAnswer('DeletePoint', bytes, (known) => live.has(known));
            const reply = await call('DeletePoint', bytes);
            expect(status[reply.code]).toBe(status[code]);
            if (id !== undefined) live.delete(id);
          }
        }),
        fuzzing(10),
      );
      expect(await countPoints(server)).toBe(others + live.size);
    },
    FUZZ_TIMEOUT_MS,
  );

  async function expectStored(id: string, item: Item | undefined): Promise<void> {
    const { code, message } = await call('GetPoint', idMessage(id));
    expect(code).toBe(status.OK);
    const { vector: stored, payload: kind } = protobuf.decode(POINT, message);
    expect({ vector: stored, payload: kind }).toEqual({
      vector: item?.vector,
      payload: item?.payload,
    });
  }
});

describe.each([CHECK, WATCH, ...REFLECTIONS])('%s', (path) => {
  test(
    'answers messages that nobody would write, or blames its client',
    async () => {
      const run = async (bytes: Buffer): Promise<void> => {
        expect(BLAMED).toContain((await call(path, bytes)).code);
      };
      // A request of health is one, too, with its one text.
      const message = fc.oneof(
        reflectionRequest,
        mutated(reflectionRequest),
        mutated(reflectionRequest),
      );
      await fc.assert(
        fc.asyncProperty(several(message), async (all) => sendAll(all, run)),
        fuzzing(25),
      );
    },
    FUZZ_TIMEOUT_MS,
  );
});

/** A request as it goes over the wire, and what its headers say of it. */
interface Frames {
  readonly pieces: readonly Uint8Array[];
  readonly headers: Record<string, string>;
}

const COMPRESSIONS = [(bytes: Uint8Array) => bytes, gzipSync, deflateSync];
const flag = fc.oneof(fc.constantFrom(0, 1), fc.nat(255));

/** Frames whose header lies: about their length, or whether and how they are compressed. */
function frames(message: Uint8Array): fc.Arbitrary<Frames> {
  const lie = fc.oneof(
    fc.constant((length: number) => length),
    fc.integer({ min: -9, max: 9 }).map((by) => (length: number) => length + by),
    fc.nat(0xffff_ffff).map((value) => () => value),
  );
  const frame = fc
    .tuple(flag, lie, fc.constantFrom(...COMPRESSIONS), fc.oneof(fc.constant(0), fc.nat(30)))
    .map(([byte, tell, compress, cut]) => {
      const content = compress(message);
      const header = Buffer.alloc(FRAME_HEADER_BYTES);
      header[0] = byte;
      header.writeUInt32BE(Math.max(0, tell(content.length)), 1);
      const whole = Buffer.concat([header, content]);
      return whole.subarray(0, Math.max(0, whole.length - cut));
    });
  const encoding = fc.option(
    fc.constantFrom('identity', 'gzip', 'deflate', 'br', 'snappy', '', 'gzip, gzip', '__proto__'),
    { nil: undefined },
  );
  const amount = fc.oneof(
    { weight: 4, arbitrary: fc.array(frame, { minLength: 1, maxLength: 1 }) },
    fc.array(frame, { maxLength: 3 }),
  );
  return fc.tuple(amount, encoding, fc.nat(40)).map(([sent, name, at]) => {
    const bytes = Buffer.concat(sent);
    return {
      pieces: [bytes.subarray(0, at), bytes.subarray(at)],
      headers: name === undefined ? {} : { 'grpc-encoding': name },
    };
  });
}

describe('frames that lie are answered, and store nothing but what they are answered for', () => {
  const single = wire.insertRequest([1, 2, 3, 4], 'x');
  const requests: Record<string, Buffer> = {
    InsertVector: single,
    InsertVectorsBatch: Buffer.concat([wire.delimited(1, single), wire.delimited(1, single)]),
    DeletePoint: idMessage('00000000-0000-4000-8000-000000000000'),
    GetPoint: idMessage('00000000-0000-4000-8000-000000000000'),
    SearchPoints: wire.searchRequest([1, 2, 3, 4], 3),
    SearchPointsBatch: wire.delimited(1, wire.searchRequest([1, 2, 3, 4], 3)),
    [CHECK]: wire.delimited(1, 'vectordb.VectorDB'),
    [WATCH]: wire.delimited(1, 'vectordb.VectorDB'),
  };
  for (const path of REFLECTIONS) requests[path] = wire.delimited(7, '');

  test.each([...METHODS, CHECK, WATCH, ...REFLECTIONS])(
    '%s',
    async (method) => {
      let points = await countPoints(server);
      const run = async ({ pieces, headers }: Frames): Promise<void> => {
        const { code, message } = await send(method, pieces, headers);
        expect(code).not.toBe(NO_STATUS);
        expect(BLAMED).toContain(code);
        if (code !== status.OK) return;
        if (method === 'InsertVector') points += 1;
        if (method === 'InsertVectorsBatch') points += idsIn(message).length;
      };
      const request = requests[method] ?? Buffer.alloc(0);
      await fc.assert(
        fc.asyncProperty(several(frames(request)), async (all) => sendAll(all, run)),
        fuzzing(25),
      );
      expect(await countPoints(server)).toBe(points);
    },
    FUZZ_TIMEOUT_MS,
  );
});
