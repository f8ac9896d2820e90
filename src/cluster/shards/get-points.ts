import { POINT_ID_BYTES, type PointIds } from '../../core/point-id.js';
import type { Gathered, Include } from '../../core/records.js';
import type { OnRequestEnd } from '../../core/request-end.js';
import { askParts } from './ask-parts.js';
import { pickRecords, type Places } from './pick-records.js';
import { bytesInAnswer, checkBytes } from './refusals.js';
import type { Shards } from './shards.js';
import { inOrder, pickIds, split, type Part } from './split.js';

/** Reads the points with these ids, which take at most `maxBytes`, each from its shard. */
export async function getPoints(
  shards: Shards,
  ids: PointIds,
  include: Include,
  maxBytes: number,
  onRequestEnd: OnRequestEnd,
): Promise<Gathered> {
  const parts = split(ids, shards.count);
  const gathered = await askParts(parts, onRequestEnd, async (part, onEnd) => {
    const points = shards.at(part.shard);
    return await points.getMany(pickIds(ids, part), include, maxBytes, onEnd);
  });
  const lists = gathered.map(({ records }) => records);
  const bytes = lists.reduce((sum, records) => sum + bytesInAnswer(records), 0);
  checkBytes(bytes, maxBytes);
  const found = inOrder(
    ids.length / POINT_ID_BYTES,
    parts,
    gathered.map((part) => part.found),
  );
  return { records: pickRecords(lists, placesOfFound(found, parts), shards.dimension), found };
}

/** Where the points that were found are in the answers to the parts, in the order of the request. */
function placesOfFound(found: Uint8Array, parts: readonly Part[]): Places {
  const lists = new Uint16Array(found.length);
  const indices = new Uint32Array(found.length);
  for (const [list, part] of parts.entries()) {
    let next = 0;
    for (const index of part.indices) {
      lists[index] = list;
      indices[index] = next;
      next += found[index] ?? 0;
    }
  }
  const isFound = (_: number, index: number): boolean => found[index] === 1;
  return { lists: lists.filter(isFound), indices: indices.filter(isFound) };
}
