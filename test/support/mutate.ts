import fc from 'fast-check';
import { unknownField } from './messages.js';
import * as wire from './wire.js';

type Mutation = (bytes: Buffer) => Buffer;

/** As a length or a value: where readers of 31, 32, 53, 63 and 64 bits go wrong. */
const HUGE = [2n ** 31n - 1n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n];

/** More than any reader follows, and more than fit on a stack. */
const DEPTHS = [99, 100, 101, 20_000];

const ODD_ENDS = [
  Buffer.of(0x00, 0x00),
  Buffer.of(0x0e),
  Buffer.of(0x0f),
  wire.tag(1, wire.END_GROUP),
  wire.tag(1, wire.START_GROUP),
  Buffer.alloc(11, 0xff),
  Buffer.of(0x88, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x01),
  Buffer.of(0x8a, 0x00, 0x00),
];

/** A part of the whole: doubles would be drawn from their bits, and nearly all be nearly 0. */
const place = fc.nat(1_000).map((number) => number / 1_000);
const byte = fc.nat(255);

const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.tuple(place, fc.nat(7)).map(([at, bit]) => changeByte(at, (value) => value ^ (1 << bit))),
  fc.tuple(place, byte).map(([at, value]) => changeByte(at, () => value)),
  fc.tuple(place, fc.nat(7)).map(([at, type]) => changeByte(at, (tag) => (tag & ~7) | type)),
  place.map((at) => (bytes: Buffer) => bytes.subarray(0, index(bytes, at))),
  fc.tuple(place, place).map(([from, to]) => changeRange(from, to, () => [])),
  fc.tuple(place, place).map(([from, to]) => changeRange(from, to, (part) => [part, part])),
  fc.tuple(place, place).map(([from, to]) => changeRange(from, to, (part) => [part.toReversed()])),
  fc.tuple(place, fc.uint8Array({ maxLength: 8 })).map(([at, bytes]) => insertAt(at, bytes)),
  fc.tuple(place, fc.constantFrom(...HUGE)).map(([at, value]) => insertAt(at, wire.varint(value))),
  fc.tuple(place, unknownField).map(([at, field]) => insertAt(at, field)),
  fc.tuple(place, fc.constantFrom(...ODD_ENDS)).map(([at, bytes]) => insertAt(at, bytes)),
  fc.constantFrom(...DEPTHS).map((depth) => insertAt(1, deepGroup(depth, depth))),
  fc.constantFrom(...DEPTHS).map((depth) => insertAt(1, deepGroup(depth, depth - 1))),
  fc.constant((bytes: Buffer) => Buffer.concat([bytes, bytes])),
);

/** Messages with a few mistakes in them, such as bad lines, bad memory and bad clients make. */
export function mutated(message: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  return fc
    .tuple(message, fc.array(mutation, { minLength: 1, maxLength: 3 }))
    .map(([bytes, mutations]) => mutations.reduce((result, mutate) => mutate(result), bytes));
}

function index(bytes: Buffer, at: number): number {
  return Math.floor(bytes.length * at);
}

function changeByte(at: number, change: (value: number) => number): Mutation {
  return (bytes) => {
    const changed = Buffer.from(bytes);
    const value = changed[index(bytes, at)];
    if (value !== undefined) changed[index(bytes, at)] = change(value);
    return changed;
  };
}

function changeRange(from: number, to: number, change: (part: Buffer) => Uint8Array[]): Mutation {
  return (bytes) => {
    const [start = 0, end = 0] = [index(bytes, from), index(bytes, to)].toSorted((a, b) => a - b);
    const part = change(bytes.subarray(start, end));
    return Buffer.concat([bytes.subarray(0, start), ...part, bytes.subarray(end)]);
  };
}

function insertAt(at: number, inserted: Uint8Array): Mutation {
  return (bytes) => {
    const start = index(bytes, at);
    return Buffer.concat([bytes.subarray(0, start), inserted, bytes.subarray(start)]);
  };
}

/** Groups within groups, of which some may not be ended. */
function deepGroup(starts: number, ends: number): Buffer {
  const start = wire.tag(15, wire.START_GROUP);
  const end = wire.tag(15, wire.END_GROUP);
  return Buffer.concat([Buffer.alloc(starts, start), Buffer.alloc(ends, end)]);
}
