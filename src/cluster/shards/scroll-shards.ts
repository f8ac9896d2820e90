import { IDS_ALONE } from '../../core/include.js';
import { POINT_ID_BYTES } from '../../core/point-id.js';
import type { Page, PageRequest, Records } from '../../core/records.js';
import type { PageToken } from '../../core/page-token.js';
import { pickRecords } from './pick-records.js';
import { bytesInAnswer } from './refusals.js';
import { readShardToken, shardToken } from './shard-token.js';
import type { Shards } from './shards.js';

/** Asks a shard for a page of its points. */
type AskPage = (shard: number, request: PageRequest) => Promise<Page>;

/**
 * A page of the points of all shards: those of the first are followed by those of the next, and the
 * other way round with the newest first.
 */
export async function scrollShards(
  { count, dimension }: Pick<Shards, 'count' | 'dimension'>,
  request: PageRequest,
  ask: AskPage,
): Promise<Page> {
  const { newestFirst } = request;
  const order = Array.from({ length: count }, (_, at) => (newestFirst ? count - 1 - at : at));
  const begin = request.after && readShardToken(request.after, count);
  const lists: Records[] = [];
  const answer = (shard?: number, after?: PageToken): Page => ({
    records: joined(lists, dimension),
    next: shard === undefined ? undefined : shardToken(shard, count, after),
  });
  let { limit, maxBytes } = request;
  for (const shard of order.slice(begin === undefined ? 0 : order.indexOf(begin.shard))) {
    const after = shard === begin?.shard ? begin.after : undefined;
    if (lists.length > 0 && (limit === 0 || maxBytes <= 0)) {
      // The page is full: whether it is the last depends on whether there is a point left.
      const rest = { ...request, after, limit: 1, include: IDS_ALONE };
      if ((await ask(shard, rest)).records.ids.length > 0) return answer(shard);
      continue;
    }
    const { records, next } = await ask(shard, { ...request, after, limit, maxBytes });
    const bytes = bytesInAnswer(records);
    // A shard answers one point at least, however large.
    if (lists.length > 0 && bytes > maxBytes) return answer(shard);
    if (records.ids.length > 0) lists.push(records);
    if (next !== undefined) return answer(shard, next);
    limit -= countOf(records);
    maxBytes -= bytes;
  }
  return answer();
}

function countOf({ ids }: Records): number {
  return ids.length / POINT_ID_BYTES;
}

/** The points of all lists, one list after the other. */
function joined(lists: readonly Records[], dimension: number): Records {
  const [only] = lists;
  if (only !== undefined && lists.length === 1) return only;
  const counts = lists.map(countOf);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const places = { lists: new Uint16Array(total), indices: new Uint32Array(total) };
  let end = 0;
  for (const [list, count] of counts.entries()) {
    places.lists.fill(list, end, end + count);
    for (let at = 0; at < count; at += 1) places.indices[end + at] = at;
    end += count;
  }
  return pickRecords(lists, places, dimension);
}
