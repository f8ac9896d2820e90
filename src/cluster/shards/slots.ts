import { POINT_ID_BYTES, type PointIds } from '../../core/point-id.js';

/** An id is in one slot for ever, whatever the number of shards; each shard has a range of slots. */
const SLOT_BITS = 12;
const SLOTS = 1 << SLOT_BITS;

const FNV_BASIS = 0x811c_9dc5;
const FNV_PRIME = 0x0100_0193;

/** The hash, FNV-1a of 32 bits, of the bytes from `start` up to `end`, behind those of another hash. */
export function hashOf(bytes: Uint8Array, start: number, end: number, before = FNV_BASIS): number {
  let hash = before;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), FNV_PRIME);
  return hash;
}

/** The slot of the id with this hash: the bits of the hash folded by xor. */
function slotOfHash(hash: number): number {
  return ((hash >>> SLOT_BITS) ^ hash) & (SLOTS - 1);
}

/** The shard, of so many, of the id with this hash. */
export function shardOfHash(hash: number, shards: number): number {
  return Math.floor((slotOfHash(hash) * shards) / SLOTS);
}

function hashAt(ids: PointIds, index: number): number {
  return hashOf(ids, index * POINT_ID_BYTES, (index + 1) * POINT_ID_BYTES);
}

/** The slot of the id at this place. */
export function slotOf(ids: PointIds, index: number): number {
  return slotOfHash(hashAt(ids, index));
}

/** The shard, of so many, that has the id at this place. */
export function shardOf(ids: PointIds, index: number, shards: number): number {
  return shardOfHash(hashAt(ids, index), shards);
}
