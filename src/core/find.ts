import type { Similarity } from './model.js';
import { isNilAt } from './point-id.js';
import type { Points } from './points.js';
import type { Found, Include, NeighbourQueries, NeighbourQuery } from './records.js';
import type { OnRequestEnd } from './request-end.js';
import type { DescribeItem } from './rules.js';

/** Finds neighbours: of one query at once, where its points can do that. */
export async function find(
  points: Pick<Points, 'find' | 'findBatch'>,
  queries: NeighbourQueries,
  include: Include,
  maxBytes: number,
  describe: DescribeItem,
  onRequestEnd: OnRequestEnd,
): Promise<Found> {
  if (queries.limits.length === 1) {
    const atOnce = await points.find(first(queries), include, maxBytes, describe);
    if (atOnce !== undefined) return atOnce;
  }
  return await points.findBatch(queries, include, maxBytes, describe, onRequestEnd);
}

/** The first of several queries. */
function first(queries: NeighbourQueries): NeighbourQuery {
  const { vectors, similarities, limits, efs, maxDistances, likes, filters } = queries;
  return {
    vector: vectors,
    similarity: (similarities[0] ?? 0) as Similarity,
    limit: limits[0] ?? 1,
    ef: efs[0] ?? 1,
    maxDistance: maxDistances[0] ?? Infinity,
    like: isNilAt(likes, 0) ? undefined : likes,
    filter: filters.texts,
  };
}
