import { POINT_ID_BYTES, type PointIds } from '../../core/point-id.js';
import { pickBytes, type Places } from './pick-records.js';
import { shardOf } from './slots.js';

/** The part of a request that one shard has. */
export interface Part {
  readonly shard: number;
  /** The indices of its items in the request, in their order. */
  readonly indices: Uint32Array;
}

/** The parts of a request about points with these ids: none for a shard that has none of them. */
export function split(ids: PointIds, shards: number): Part[] {
  const count = ids.length / POINT_ID_BYTES;
  const shardOfEach = new Uint16Array(count);
  const counts = new Uint32Array(shards);
  for (let index = 0; index < count; index += 1) {
    const shard = shardOf(ids, index, shards);
    shardOfEach[index] = shard;
    counts[shard] = (counts[shard] ?? 0) + 1;
  }
  const parts = Array.from(counts, (length, shard) => ({
    shard,
    indices: new Uint32Array(length),
  }));
  const filled = new Uint32Array(shards);
  for (let index = 0; index < count; index += 1) {
    const shard = shardOfEach[index] ?? 0;
    const at = filled[shard] ?? 0;
    filled[shard] = at + 1;
    const indices = parts[shard]?.indices;
    if (indices !== undefined) indices[at] = index;
  }
  return parts.filter(({ indices }) => indices.length > 0);
}

/** Where the items of a part are in the lists of the request. */
export function placesOf({ indices }: Part): Places {
  return { lists: new Uint16Array(indices.length), indices };
}

/** The ids of a part. */
export function pickIds(ids: PointIds, part: Part): PointIds {
  return pickBytes([ids], placesOf(part), POINT_ID_BYTES);
}

/** Puts what each part has been told of each of its items back into the order of the request. */
export function inOrder(
  count: number,
  parts: readonly Part[],
  answers: readonly Uint8Array[],
): Uint8Array {
  const all = new Uint8Array(count);
  for (const [at, { indices }] of parts.entries()) {
    const answer = answers[at];
    for (let item = 0; item < indices.length; item += 1) {
      all[indices[item] ?? 0] = answer?.[item] ?? 0;
    }
  }
  return all;
}
