import { similarityName } from '../core/model.js';
import { POINT_ID_BYTES, type PointIds } from '../core/point-id.js';

/** What decides how much work a request is: numbers and names, nothing of what its client stores. */
export type RequestParameters = Readonly<Record<string, number | string | readonly string[]>>;

/** Of a request as either interface reads it: a point or a query, one or many. */
export function parametersOf(asked: unknown): RequestParameters {
  // Of bytes that nobody has read yet there is nothing to tell.
  if (typeof asked !== 'object' || asked === null || ArrayBuffer.isView(asked)) return {};
  const { similarities, similarity, contentEnds, ids, ...query } = asked as Asked;
  if (similarities !== undefined) {
    const { limits = [], efs = [] } = query;
    const ef = greatest(efs);
    return {
      queries: similarities.length,
      similarity: Array.from(new Set(similarities), similarityName),
      limit: greatest(limits),
      ...(ef > 0 ? { ef } : {}),
    };
  }
  if (similarity !== undefined) {
    const { limit = 0, ef = 0 } = query;
    const breadth = ef > 0 ? { ef: Number(ef) } : {};
    return {
      queries: 1,
      similarity: similarityName(similarity),
      limit: Number(limit),
      ...breadth,
    };
  }
  if (contentEnds !== undefined) return { items: contentEnds.length };
  return ids === undefined ? {} : { items: ids.length / POINT_ID_BYTES };
}

/** The fields by which the forms of a request are told apart: each is in one of them alone. */
interface Asked {
  readonly similarities?: Uint8Array;
  readonly limits?: Uint32Array;
  readonly efs?: Uint32Array;
  readonly similarity?: number;
  readonly limit?: number | bigint;
  readonly ef?: number | bigint | undefined;
  readonly contentEnds?: Uint32Array;
  readonly ids?: PointIds;
}

/** Of as many as a batch may hold: too many to be arguments of Math.max. */
function greatest(numbers: Iterable<number>): number {
  let found = 0;
  for (const number of numbers) found = Math.max(found, number);
  return found;
}
