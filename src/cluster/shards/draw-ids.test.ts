import { expect, test } from 'vitest';
import { assignPointIds, formatPointId, POINT_ID_BYTES } from '../../core/point-id.js';
import { drawInto } from './draw-ids.js';
import { shardOf } from './slots.js';

const COUNT = 2_000;

test.each([1, 2, 3, 16, 64])(
  'all ids are of a shard of %i, of version 4 and different',
  (shards) => {
    for (const shard of new Set([0, shards >>> 1, shards - 1])) {
      const ids = assignPointIds(COUNT);
      drawInto(ids, shard, shards);
      const texts = new Set<string>();
      for (let index = 0; index < COUNT; index += 1) {
        expect(shardOf(ids, index, shards)).toBe(shard);
        texts.add(
          formatPointId(ids.subarray(index * POINT_ID_BYTES, (index + 1) * POINT_ID_BYTES)),
        );
      }
      expect(texts.size).toBe(COUNT);
      for (const text of texts) expect(text).toMatch(/^.{14}4.{4}[89ab]/);
      const before = ids.slice();
      drawInto(ids, shard, shards);
      // What is right stays.
      expect(ids).toEqual(before);
    }
  },
);
