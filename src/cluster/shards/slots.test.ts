import { describe, expect, it, test } from 'vitest';
import {
  assignPointIds,
  parsePointId,
  POINT_ID_BYTES,
  type PointIds,
} from '../../core/point-id.js';
import { shardOf, slotOf } from './slots.js';

const COUNT = 100_000;

/** Ids of version 7 that are made within one millisecond. */
function atOneTime(): PointIds {
  const ids = assignPointIds(COUNT);
  for (let start = 0; start < ids.length; start += POINT_ID_BYTES) {
    ids.set([0x01, 0x93, 0x5a, 0x7c, 0x10, 0x42, 0x70 | ((ids[start + 6] ?? 0) & 0x0f)], start);
  }
  return ids;
}

/** The numbers from 0 on as ids. */
function counted(): PointIds {
  const ids = Buffer.alloc(COUNT * POINT_ID_BYTES);
  for (let index = 0; index < COUNT; index += 1)
    ids.writeUInt32BE(index, index * POINT_ID_BYTES + 12);
  return ids;
}

/** A point is where its id says: another slot for it, ever, and it would not be found. */
test.each([
  ['00000000-0000-0000-0000-000000000000', 3_988],
  ['00000000-0000-0000-0000-000000000001', 483],
  ['01234567-89ab-4cde-8f01-23456789abcd', 3_284],
  ['ffffffff-ffff-ffff-ffff-ffffffffffff', 2_434],
  ['01935a7c-1042-7abc-9def-0123456789ab', 207],
])('the slot of %s is %i', (text, slot) => {
  expect(slotOf(parsePointId(text) ?? new Uint8Array(), 0)).toBe(slot);
});

describe.each([
  ['ids of version 4', assignPointIds(COUNT)],
  ['ids of version 7 of one millisecond', atOneTime()],
  ['numbers from 0 on', counted()],
])('%s', (_, ids) => {
  it.each([2, 3, 16, 64])('are spread evenly over %i shards', (shards) => {
    const counts = new Uint32Array(shards);
    for (let index = 0; index < COUNT; index += 1) {
      const shard = shardOf(ids, index, shards);
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    const even = COUNT / shards;
    // Six standard deviations of what chance does.
    const most = 6 * Math.sqrt(even);
    for (const count of counts) expect(Math.abs(count - even)).toBeLessThan(most);
  });
});

test('each shard has a range of slots', () => {
  const ids = assignPointIds(10_000);
  for (let index = 0; index < 10_000; index += 1) {
    const slot = slotOf(ids, index);
    expect(shardOf(ids, index, 1)).toBe(0);
    expect(shardOf(ids, index, 4_096)).toBe(slot);
    expect(shardOf(ids, index, 2)).toBe(slot < 2_048 ? 0 : 1);
  }
});
