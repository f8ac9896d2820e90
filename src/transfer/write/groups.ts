import type { FullPoint } from './point-columns.js';

/** Bytes of vectors in a row group or a record batch: readers hold one of these in memory. */
const GROUP_BYTES = 16 * 1024 * 1024;

/** Contents are counted by rows alone. */
const MAX_ROWS = 4_096;

/** Points in groups of a size that is read at one time; one empty group if there are none. */
export async function* groupsOf(
  points: AsyncIterable<FullPoint>,
  dimension: number,
): AsyncGenerator<readonly FullPoint[], void, undefined> {
  const rows = Math.max(1, Math.min(MAX_ROWS, Math.floor(GROUP_BYTES / (dimension * 4))));
  let group: FullPoint[] = [];
  let isAny = false;
  for await (const point of points) {
    group.push(point);
    if (group.length < rows) continue;
    isAny = true;
    yield group;
    group = [];
  }
  if (group.length > 0 || !isAny) yield group;
}
