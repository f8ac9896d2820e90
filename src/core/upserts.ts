import { checkDistinct } from './distinct.js';
import { contentError, type PointList } from './point-batch.js';
import { fillPointIds, type PointIds } from './point-id.js';
import type { Records, UpdateBatch, UpsertBatch } from './records.js';
import { adviseOnDimension, checkDimensions, type DescribeItem, type Rules } from './rules.js';

export const describeUpsert: DescribeItem = (index) => `points[${index}]: `;

/** The field that a message about a content names. */
const CONTENT = 'content';

type Metadata = Pick<Records, 'metadata' | 'metadataEnds'>;

/** Points that a client wants stored. */
export interface UpsertRequest extends UpsertBatch {
  /** Whether points that are there stay as they are. */
  readonly keeps: boolean;
}

/** Points as a client sent them to be stored: not all of them may keep to the rules. */
export interface UpsertList extends PointList, Metadata {
  /** Zeros for a point that is to get an id. */
  readonly ids: PointIds;
}

/** Payloads as a client sent them. */
export interface UpdateList
  extends Omit<PointList, 'vectors' | 'vectorEnds'>, Metadata, Pick<UpdateBatch, 'ids' | 'given'> {}

/** Gives ids to points that have none; throws a VectordError where a point breaks a rule. */
export function toUpsertBatch(list: UpsertList, rules: Rules): UpsertBatch {
  const { vectors, vectorEnds, contentTypes, contents, contentEnds, contentFault } = list;
  const { metadata, metadataEnds } = list;
  // Of two faults the first in the list is told.
  const looked = vectorEnds.subarray(0, (contentFault?.item ?? Infinity) + 1);
  checkDimensions(looked, rules.dimension, describeUpsert, adviseOnDimension);
  checkContents(list, rules);
  const areIdsDrawn = list.ids.every((byte) => byte === 0);
  const ids = fillPointIds(list.ids);
  checkDistinct(ids, describeUpsert);
  return { ids, areIdsDrawn, vectors, contentTypes, contents, contentEnds, metadata, metadataEnds };
}

/** Throws a VectordError where a payload breaks a rule. */
export function toUpdateBatch(list: UpdateList, rules: Rules): UpdateBatch {
  const { ids, given, contentTypes, contents, contentEnds, metadata, metadataEnds } = list;
  checkContents(list, rules);
  checkDistinct(ids, describeUpsert);
  return { ids, given, contentTypes, contents, contentEnds, metadata, metadataEnds };
}

function checkContents({ contentFault }: Pick<PointList, 'contentFault'>, { limits }: Rules): void {
  if (contentFault === undefined) return;
  throw contentError(contentFault, limits.maxContentBytes, describeUpsert, CONTENT);
}
