import { toContentType, type NewPoint } from '../../core/model.js';
import type { Gathered, Include } from '../../core/records.js';

/** What the plain form of a point has. */
export const PLAIN: Include = { vector: true, contentType: true, content: true, metadata: false };

/** The first of the points that were asked for, which has its `PLAIN` parts. */
export function firstPoint({ records }: Gathered): NewPoint | undefined {
  const { ids, vectors, contentTypes, contents } = records;
  if (ids.length === 0) return undefined;
  const contentType = toContentType(contentTypes[0]);
  return { vector: vectors, payload: { contentType, content: Buffer.from(contents).toString() } };
}
