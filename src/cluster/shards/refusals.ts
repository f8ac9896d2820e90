import { invalid, VectordError } from '../../core/errors.js';
import { formatPointId, type PointId } from '../../core/point-id.js';
import type { Records } from '../../core/records.js';
import type { DescribeItem } from '../../core/rules.js';

/*
 * What an engine refuses, in its words, where no shard sees all that decides it.
 */

/** Of a value that is NaN or infinite, before any shard has stored the other points of a batch. */
export function checkFinite(
  vectors: Float32Array,
  dimension: number,
  describe: DescribeItem,
): void {
  for (let at = 0; at < vectors.length; at += 1) {
    const value = vectors[at] ?? 0;
    if (Number.isFinite(value)) continue;
    const found = String(value).replace('Infinity', 'inf');
    throw invalid(
      `${describe(Math.floor(at / dimension))}value ${at % dimension} of the vector is ${found}, ` +
        'expected a finite number',
    );
  }
}

/** The bytes of what is wanted of records, as engines count them. */
export function bytesInAnswer({ ids, vectors, contentTypes, contents, metadata }: Records): number {
  const values = [ids, contentTypes, contents, metadata].reduce(
    (sum, part) => sum + part.length,
    0,
  );
  return values + vectors.byteLength;
}

/** Of records that take too much together. */
export function checkBytes(bytes: number, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  throw new VectordError(
    'TOO_LARGE',
    `the answer takes more than ${maxBytes} bytes (MAX_REQUEST_BYTES): ask for fewer points, or ` +
      'include less',
  );
}

/** Of a delete of all points whose number is another one. */
export function checkCount(points: number, expected: number): void {
  if (points === expected) return;
  throw new VectordError('CONFLICT', `there are ${points} points, expected ${expected}`);
}

/** Of a query, which `where` names, for the neighbours of a point that is not there. */
export function noSuchPoint(where: string, id: PointId): VectordError {
  return new VectordError(
    'NOT_FOUND',
    `${where}like is ${formatPointId(id)}, which is the id of no point`,
  );
}
