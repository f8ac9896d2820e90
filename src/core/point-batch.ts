import { concatenate, type VectorList } from './concatenate.js';
import { VectordError, invalid } from './errors.js';
import type { NewPoint } from './model.js';
import { assignPointIds, type PointIds } from './point-id.js';
import { checkDimensions, type DescribeItem, type Rules } from './rules.js';

/** Points ready to be stored, in the form that the engine takes: one list of each of their parts. */
export interface PointBatch {
  readonly ids: PointIds;
  readonly vectors: Float32Array;
  readonly contentTypes: Uint8Array;
  /** The contents in UTF-8. */
  readonly contents: Uint8Array;
  /** Where each content ends within `contents`. */
  readonly contentEnds: Uint32Array;
}

/** Points as a client sent them, in the same form: not all of them may keep to the rules. */
export interface PointList extends Omit<PointBatch, 'ids'>, VectorList {
  /** The first content that is not among `contents`. */
  readonly contentFault?: ContentFault | undefined;
}

export interface ContentFault {
  /** The index of its point. */
  readonly item: number;
  /** Its length, if that is too much; otherwise it holds a lone surrogate. */
  readonly bytes?: number | undefined;
}

/** Gives points their ids; throws a VectordError where one breaks a rule. */
export function toPointBatch(
  { vectors, vectorEnds, contentTypes, contents, contentEnds, contentFault }: PointList,
  { dimension, limits }: Rules,
  describe: DescribeItem,
): PointBatch {
  // Of two faults the first in the list is told.
  checkDimensions(
    vectorEnds.subarray(0, (contentFault?.item ?? Infinity) + 1),
    dimension,
    describe,
  );
  if (contentFault !== undefined)
    throw contentError(contentFault, limits.maxContentBytes, describe, 'payload.content');
  return { ids: assignPointIds(vectorEnds.length), vectors, contentTypes, contents, contentEnds };
}

/** The lists of points that came as objects. */
export function listPoints(points: readonly NewPoint[], maxContentBytes: number): PointList {
  return {
    ...concatenate(points),
    contentTypes: Uint8Array.from(points, ({ payload }) => payload.contentType),
    ...encodeContents(points, maxContentBytes),
  };
}

/** Why a content is refused, which is in a field of this name. */
export function contentError(
  { item, bytes }: ContentFault,
  maxBytes: number,
  describe: DescribeItem,
  field: string,
): VectordError {
  const content = `${describe(item)}${field}`;
  if (bytes === undefined) {
    return invalid(`${content} holds a lone surrogate, expected Unicode text`);
  }
  return new VectordError(
    'TOO_LARGE',
    `${content} has ${bytes} bytes, at most ${maxBytes} are allowed (MAX_CONTENT_BYTES)`,
  );
}

function encodeContents(
  points: readonly NewPoint[],
  maxContentBytes: number,
): Pick<PointList, 'contents' | 'contentEnds' | 'contentFault'> {
  let end = 0;
  let contentFault: ContentFault | undefined;
  const contentEnds = Uint32Array.from(points, ({ payload }, item) => {
    const bytes = Buffer.byteLength(payload.content);
    if (bytes <= maxContentBytes) end += bytes;
    else contentFault ??= { item, bytes };
    return end;
  });
  if (contentFault !== undefined) return { contents: new Uint8Array(), contentEnds, contentFault };
  // Memory of its own, which can go from thread to thread.
  const contents = Buffer.allocUnsafeSlow(end);
  points.forEach(({ payload }, index) => {
    contents.write(payload.content, contentEnds[index - 1] ?? 0);
  });
  return { contents, contentEnds };
}
