import { isNilAt, POINT_ID_BYTES, type PointIds } from '../../core/point-id.js';
import type { Found, NeighbourQueries } from '../../core/records.js';
import type { Places } from './pick-records.js';

/** The nearest of the neighbours that several shards have found, those of one query after the other. */
export interface Merged extends Places {
  /** How many each query has. */
  readonly counts: Uint32Array;
  readonly distances: Float64Array;
}

/**
 * Merges what each shard has found for the same queries: by distance, then by shard, then in the
 * order of the shard, up to the limit of each query. A point is not among its own neighbours.
 */
export function merge(
  legs: readonly Found[],
  { limits, likes }: Pick<NeighbourQueries, 'limits' | 'likes'>,
): Merged {
  const distanceLists = legs.map(({ distances }) => distances);
  const idLists = legs.map(({ records }) => records.ids);
  const most = distanceLists.reduce((sum, { length }) => sum + length, 0);
  const lists = new Uint16Array(most);
  const indices = new Uint32Array(most);
  const distances = new Float64Array(most);
  const counts = new Uint32Array(limits.length);
  /** In each leg, the nearest neighbour that is not taken yet, and the end of those of the query. */
  const heads = new Uint32Array(legs.length);
  const ends = new Uint32Array(legs.length);
  let taken = 0;
  for (let query = 0; query < limits.length; query += 1) {
    for (const [leg, found] of legs.entries()) {
      heads[leg] = ends[leg] ?? 0;
      ends[leg] = (ends[leg] ?? 0) + (found.counts[query] ?? 0);
    }
    const isLike = !isNilAt(likes, query);
    const start = taken;
    while (taken - start < (limits[query] ?? 0)) {
      const leg = nearest(distanceLists, heads, ends);
      if (leg < 0) break;
      const head = heads[leg] ?? 0;
      heads[leg] = head + 1;
      if (isLike && isSame(idLists[leg], head, likes, query)) continue;
      lists[taken] = leg;
      indices[taken] = head;
      distances[taken] = distanceLists[leg]?.[head] ?? 0;
      taken += 1;
    }
    counts[query] = taken - start;
  }
  return {
    counts,
    lists: lists.subarray(0, taken),
    indices: indices.subarray(0, taken),
    distances: distances.slice(0, taken),
  };
}

/** The leg whose next neighbour is the nearest, the first of several; -1 where all are taken. */
function nearest(
  distances: readonly Float64Array[],
  heads: Uint32Array,
  ends: Uint32Array,
): number {
  let nearestLeg = -1;
  let least = Infinity;
  for (let leg = 0; leg < distances.length; leg += 1) {
    const head = heads[leg] ?? 0;
    if (head >= (ends[leg] ?? 0)) continue;
    const distance = distances[leg]?.[head] ?? 0;
    if (nearestLeg >= 0 && distance >= least) continue;
    nearestLeg = leg;
    least = distance;
  }
  return nearestLeg;
}

function isSame(
  ids: PointIds | undefined,
  index: number,
  others: PointIds,
  otherIndex: number,
): boolean {
  for (let at = 0; at < POINT_ID_BYTES; at += 1) {
    if (ids?.[index * POINT_ID_BYTES + at] !== others[otherIndex * POINT_ID_BYTES + at])
      return false;
  }
  return true;
}
