import { invalid } from './errors.js';
import { filterPointIds, POINT_ID_BYTES, type PointIds } from './point-id.js';
import type { DescribeItem } from './rules.js';

/** The text of an id for a Map: each of its bytes as a character. */
function keyAt(ids: Buffer, index: number): string {
  const start = index * POINT_ID_BYTES;
  return ids.toString('latin1', start, start + POINT_ID_BYTES);
}

function bufferOf({ buffer, byteOffset, length }: PointIds): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

/** Throws a VectordError where two items have the same id. */
export function checkDistinct(ids: PointIds, describe: DescribeItem): void {
  const bytes = bufferOf(ids);
  const seen = new Map<string, number>();
  for (let index = 0; index < ids.length / POINT_ID_BYTES; index += 1) {
    const key = keyAt(bytes, index);
    const first = seen.get(key);
    if (first !== undefined) {
      throw invalid(
        `${describe(index)}id is that of ${describe(first).replace(/: $/, '')}, expected each id once`,
      );
    }
    seen.set(key, index);
  }
}

/** Each id once, in the order in which they come first. */
export function distinct(ids: PointIds): PointIds {
  const bytes = bufferOf(ids);
  const seen = new Set<string>();
  return filterPointIds(ids, (index) => {
    const before = seen.size;
    return seen.add(keyAt(bytes, index)).size > before;
  });
}
