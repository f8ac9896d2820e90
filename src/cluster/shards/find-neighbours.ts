import { VectordError } from '../../core/errors.js';
import { find } from '../../core/find.js';
import { IDS_ALONE } from '../../core/include.js';
import { filterPointIds, isNilAt, POINT_ID_BYTES } from '../../core/point-id.js';
import { clampToUint32 } from '../../core/query-batch.js';
import type { Found, Include, NeighbourQueries } from '../../core/records.js';
import type { OnRequestEnd } from '../../core/request-end.js';
import type { DescribeItem } from '../../core/rules.js';
import { askParts } from './ask-parts.js';
import { getPoints } from './get-points.js';
import { merge, type Merged } from './merge.js';
import { pickRecords } from './pick-records.js';
import { bytesInAnswer, checkBytes, noSuchPoint } from './refusals.js';
import type { Shards } from './shards.js';

const VECTORS: Include = { ...IDS_ALONE, vector: true };

/** Together the records of all shards may take so many times what the answer may. */
const MOST_ANSWERS = 2;

/** Asks all shards the same queries; the nearest of what they find are the neighbours. */
export async function findNeighbours(
  shards: Shards,
  batch: NeighbourQueries,
  include: Include,
  maxBytes: number,
  describe: DescribeItem,
  onRequestEnd: OnRequestEnd,
): Promise<Found> {
  const queries = await withVectors(shards, batch, describe, onRequestEnd);
  const mostBytes = Math.min(maxBytes, Math.ceil((MOST_ANSWERS * maxBytes) / shards.count));
  /** Of the shards whose records are too large there are only the ids. */
  const withoutRecords = new Set<number>();
  let legs = await askParts(shards.all, onRequestEnd, async ({ shard }, onEnd) => {
    const points = shards.at(shard);
    try {
      return await find(points, queries, include, mostBytes, describe, onEnd);
    } catch (error) {
      if (!(error instanceof VectordError && error.code === 'TOO_LARGE')) throw error;
    }
    withoutRecords.add(shard);
    return await points.findBatch(queries, IDS_ALONE, mostBytes, describe, onEnd);
  });
  let merged = merge(legs, batch);
  if (withoutRecords.size > 0) {
    const before = merged;
    legs = await askParts(shards.all, onRequestEnd, async ({ shard }, onEnd) => {
      const leg = legs[shard];
      if (leg !== undefined && !withoutRecords.has(shard)) return leg;
      const narrowed = narrow(queries, batch.likes, before, shard);
      return await shards.at(shard).findBatch(narrowed, include, maxBytes, describe, onEnd);
    });
    merged = merge(legs, batch);
  }
  const lists = legs.map(({ records }) => records);
  const records = pickRecords(lists, merged, shards.dimension);
  const isIdsAlone = !Object.values(include).includes(true);
  if (!isIdsAlone) checkBytes(bytesInAnswer(records), maxBytes);
  return { counts: merged.counts, distances: merged.distances, records };
}

/**
 * The queries for all shards, with the vectors of the points whose neighbours are wanted, of which only
 * one shard knows each. As that point is found, too, there is one neighbour more.
 */
async function withVectors(
  shards: Shards,
  batch: NeighbourQueries,
  describe: DescribeItem,
  onRequestEnd: OnRequestEnd,
): Promise<NeighbourQueries> {
  const { likes, limits } = batch;
  const { dimension } = shards;
  const ids = filterPointIds(likes, (query) => !isNilAt(likes, query));
  if (ids.length === 0) return batch;
  const maxBytes = (ids.length / POINT_ID_BYTES) * (POINT_ID_BYTES + 4 * dimension);
  const got = await getPoints(shards, ids, VECTORS, maxBytes, onRequestEnd);
  const vectors = new Float32Array(limits.length * dimension);
  let [given, gotten] = [0, 0];
  for (let query = 0; query < limits.length; query += 1) {
    const isGiven = isNilAt(likes, query);
    if (!isGiven && got.found[gotten] !== 1) {
      const start = query * POINT_ID_BYTES;
      throw noSuchPoint(describe(query), likes.subarray(start, start + POINT_ID_BYTES));
    }
    const from = isGiven ? batch.vectors : got.records.vectors;
    const start = (isGiven ? given++ : gotten++) * dimension;
    vectors.set(from.subarray(start, start + dimension), query * dimension);
  }
  return {
    ...batch,
    vectors,
    limits: limits.map((limit, query) =>
      isNilAt(likes, query) ? limit : clampToUint32(limit + 1),
    ),
    likes: new Uint8Array(likes.length),
  };
}

/** The queries for no more than what is wanted of what this shard has found. */
function narrow(
  queries: NeighbourQueries,
  likes: NeighbourQueries['likes'],
  { counts, lists }: Merged,
  shard: number,
): NeighbourQueries {
  const limits = new Uint32Array(counts.length);
  let at = 0;
  for (const [query, count] of counts.entries()) {
    for (const end = at + count; at < end; at += 1) {
      if (lists[at] === shard) limits[query] = (limits[query] ?? 0) + 1;
    }
  }
  return {
    ...queries,
    // Nothing is as near as that.
    maxDistances: queries.maxDistances.map((most, query) => (limits[query] === 0 ? -1 : most)),
    limits: limits.map((limit, query) => (isNilAt(likes, query) ? limit || 1 : limit + 1)),
  };
}
