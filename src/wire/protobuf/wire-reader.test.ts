import { expect, test } from 'vitest';
import * as wire from '../../../test/support/wire.js';
import { readInsert, readInsertBatch } from './read-insert.js';
import { readSearch } from './read-search.js';

const anyCount = (): void => {};

test('a vector given twice is one vector of all its values', () => {
  const bytes = Buffer.concat([
    wire.delimited(1, wire.packed([1, 2]), wire.unpacked([3])),
    wire.delimited(2),
    wire.delimited(1, wire.packed([4])),
  ]);
  expect(readInsert(bytes).vector).toEqual(Float32Array.of(1, 2, 3, 4));
});

test('a payload given twice is merged, and of a field given twice the last one counts', () => {
  const bytes = Buffer.concat([
    wire.delimited(2, wire.integer(1, 1), wire.delimited(2, 'first')),
    wire.delimited(2, wire.delimited(2, 'second')),
  ]);
  expect(readInsert(bytes).payload).toEqual({ contentType: 1, content: 'second' });
});

test('an empty message has no vector, an empty vector has no values', () => {
  expect(readInsert(Buffer.alloc(0))).toEqual({ vector: undefined, payload: undefined });
  expect(readInsert(wire.delimited(1)).vector).toEqual(new Float32Array(0));
});

test('a vector does not keep the memory of the message that it came in', () => {
  const bytes = new Uint8Array(wire.delimited(1, wire.packed([1, 2])));
  const { vector } = readInsert(bytes);
  bytes.fill(0xff);
  expect(vector).toEqual(Float32Array.of(1, 2));
  expect(vector?.buffer).not.toBe(bytes.buffer);
});

test('content keeps a byte order mark', () => {
  const bytes = wire.delimited(2, wire.delimited(2, '\uFEFFx'));
  expect(readInsert(bytes).payload?.content).toBe('\uFEFFx');
});

test('limit and ef carry 64 bits', () => {
  const max = 2n ** 64n - 1n;
  const { limit, ef } = readSearch(
    Buffer.concat([wire.integer(3, max), wire.integer(4, 2n ** 53n)]),
  );
  expect([limit, ef]).toEqual([max, 2n ** 53n]);
});

test('the items of a batch are counted before one of them is built', () => {
  const items = Buffer.alloc(3_800_000);
  for (let at = 0; at < items.length; at += 2) items[at] = 0x0a;
  const before = process.memoryUsage().heapUsed;
  const refuse = (count: number): void => {
    throw new Error(`${count} items`);
  };
  expect(() => readInsertBatch(items, refuse)).toThrow('1900000 items');
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(32 * 1024 * 1024);
});

const OVERLONG = Buffer.from('80'.repeat(10) + '01', 'hex');

test.each<[string, Buffer, string]>([
  ['field number 0', Buffer.from([0x02, 0x00]), 'a tag of 2 is none'],
  ['a wire type of 6', wire.tag(9, 6), 'a tag of 78 is none'],
  ['a wire type of 7', wire.tag(9, 7), 'a tag of 79 is none'],
  ['a tag of more than 32 bits', wire.varint(2n ** 35n), 'a tag of 34359738368 is none'],
  ['a varint of more than 10 bytes', Buffer.concat([wire.tag(9, 0), OVERLONG]), 'longer than 10'],
  ['a truncated varint', Buffer.from([0x48, 0x80]), 'ends within a field'],
  ['a truncated tag', Buffer.from([0x80]), 'ends within a field'],
  ['a truncated fixed32', Buffer.concat([wire.tag(9, 5), Buffer.alloc(3)]), 'ends within a field'],
  ['a truncated fixed64', Buffer.concat([wire.tag(9, 1), Buffer.alloc(7)]), 'ends within a field'],
  ['a length beyond the end', Buffer.from([0x4a, 2, 0]), 'a length of 2 bytes ends beyond'],
  ['a negative length', Buffer.concat([wire.tag(9, 2), wire.varint(-1)]), 'ends beyond'],
  ['a field that ends beyond its message', Buffer.from([0x0a, 2, 0x0a, 4, 0, 0, 0, 0]), 'beyond'],
  ['a group that does not end', wire.tag(9, wire.START_GROUP), 'ends within a field'],
  ['a group that did not start', wire.tag(9, wire.END_GROUP), 'did not start'],
  [
    'a group that ends as another',
    Buffer.concat([wire.tag(9, wire.START_GROUP), wire.tag(8, wire.END_GROUP)]),
    'ends that is not open',
  ],
  ['groups a million deep', Buffer.alloc(1_000_000, wire.tag(9, wire.START_GROUP)), 'too deep'],
  ['packed floats of 5 bytes', wire.delimited(1, wire.delimited(1, Buffer.alloc(5))), '5 bytes'],
  ['content that is not UTF-8', wire.delimited(2, wire.delimited(2, Buffer.of(0xff))), 'not UTF-8'],
  [
    'content with a surrogate',
    wire.delimited(2, wire.delimited(2, Buffer.of(0xed, 0xa0, 0x80))),
    'not UTF-8',
  ],
])('%s is malformed', (_, bytes, reason) => {
  const refused = expect.objectContaining({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining(reason),
  });
  expect(() => readInsert(bytes)).toThrow(refused);
  expect(() => readInsertBatch(wire.delimited(1, bytes), anyCount)).toThrow(refused);
});
