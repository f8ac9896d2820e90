import { VectordError, type ErrorCode } from './errors.js';
import { POINT_ID_BYTES } from './point-id.js';
import type { Points } from './points.js';
import type { QueryBatch } from './query-batch.js';
import type { Rules } from './rules.js';

/**
 * Refuses a batch of searches that asks for too many ids, with `code`, or for too much work. One query
 * is always allowed: its cost is bounded by the number of points.
 */
export function checkSearchWork(
  points: Points,
  { limits: { maxSearchWork, maxInflightBytes } }: Rules,
  { limits, efs }: Pick<QueryBatch, 'limits' | 'efs'>,
  code: ErrorCode,
): void {
  if (limits.length < 2) return;
  const { points: count } = points.status();
  const ids = limits.reduce((sum, limit) => sum + Math.min(limit, count), 0);
  // Their answer would be refused in the end: no work is done for it.
  if (ids * POINT_ID_BYTES > maxInflightBytes) {
    throw new VectordError(
      code,
      `queries ask for ${ids} ids in all, which take more than the ${maxInflightBytes} bytes ` +
        'that there are for requests and their answers (MAX_INFLIGHT_BYTES); ask for fewer',
    );
  }
  const work = points.searchWork(limits, efs);
  if (work > maxSearchWork) {
    throw new VectordError(
      'TOO_LARGE',
      `queries ask for ${work} candidates in all (the sum of max(ef, min(limit, points))), ` +
        `at most ${maxSearchWork} are allowed (MAX_SEARCH_WORK)`,
    );
  }
}
