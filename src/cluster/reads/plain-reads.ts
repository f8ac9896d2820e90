import { ContentType, type NewPoint } from '../../core/model.js';
import { POINT_ID_BYTES, type PointIds } from '../../core/point-id.js';
import type { QueryBatch } from '../../core/query-batch.js';
import type { Found, Gathered, Include, NeighbourQueries } from '../../core/records.js';

/*
 * Replicas answer one form of each read to other nodes: these turn the plain ones into it, and its
 * answers back.
 */

/** What the plain form of a point has. */
export const PLAIN: Include = { vector: true, contentType: true, content: true, metadata: false };
export const ONLY_IDS: Include = {
  vector: false,
  contentType: false,
  content: false,
  metadata: false,
};
/** As many bytes as there are. */
export const ANY_BYTES = Number.MAX_SAFE_INTEGER;

/** The first of the points that were asked for, which has its `PLAIN` parts. */
export function firstPoint({ records }: Gathered): NewPoint | undefined {
  const { ids, vectors, contentTypes, contents } = records;
  if (ids.length === 0) return undefined;
  const contentType = contentTypes[0] === ContentType.Text ? ContentType.Text : ContentType.Image;
  return { vector: vectors, payload: { contentType, content: Buffer.from(contents).toString() } };
}

/** Queries without a filter and a greatest distance. */
export function toNeighbours(batch: QueryBatch): NeighbourQueries {
  const { length } = batch.limits;
  return {
    ...batch,
    maxDistances: new Float64Array(length).fill(Infinity),
    likes: new Uint8Array(length * POINT_ID_BYTES),
    filters: { texts: new Uint8Array(), ends: new Uint32Array(length) },
  };
}

/** The ids that were found for each query. */
export function idsOfEach({ counts, records: { ids } }: Found): PointIds[] {
  let end = 0;
  return Array.from(counts, (count) => {
    const start = end;
    end += count * POINT_ID_BYTES;
    return ids.subarray(start, end);
  });
}
