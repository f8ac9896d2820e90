import { randomFillSync } from 'node:crypto';
import { POINT_ID_BYTES, type PointIds } from '../../core/point-id.js';
import { hashOf, shardOf, shardOfHash } from './slots.js';

/** The last bytes of an id, which say nothing of its version: every shard has ids with any others. */
const DRAWN_BYTES = 2;

/** Random bytes are fetched so many at a time: one call for each id would take longer than all else. */
const FETCHED_BYTES = 4_096;

/** Draws a part of each id again, in its place, until the shard has it. */
export function drawInto(ids: PointIds, shard: number, shards: number): void {
  const random = new Uint8Array(FETCHED_BYTES);
  let used = FETCHED_BYTES;
  for (let index = 0; index < ids.length / POINT_ID_BYTES; index += 1) {
    if (shardOf(ids, index, shards) === shard) continue;
    const end = (index + 1) * POINT_ID_BYTES;
    const hash = hashOf(ids, end - POINT_ID_BYTES, end - DRAWN_BYTES);
    do {
      if (used === FETCHED_BYTES) {
        randomFillSync(random);
        used = 0;
      }
      used += DRAWN_BYTES;
    } while (shardOfHash(hashOf(random, used - DRAWN_BYTES, used, hash), shards) !== shard);
    ids.set(random.subarray(used - DRAWN_BYTES, used), end - DRAWN_BYTES);
  }
}
