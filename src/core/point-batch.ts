import { concatenate } from './concatenate.js';
import { VectordError, invalid } from './errors.js';
import type { NewPoint } from './model.js';
import { assignPointIds, type PointIds } from './point-id.js';
import { checkDimension, type DescribeItem, type Rules } from './rules.js';

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

/** Gives points their ids; throws a VectordError where one breaks a rule. */
export function toPointBatch(
  points: readonly NewPoint[],
  rules: Rules,
  describe: DescribeItem,
): PointBatch {
  points.forEach((point, index) => checkPoint(point, rules, describe(index)));
  return {
    ids: assignPointIds(points.length),
    vectors: concatenate(points, rules.dimension),
    contentTypes: Uint8Array.from(points, ({ payload }) => payload.contentType),
    ...encodeContents(points),
  };
}

function checkPoint({ vector, payload }: NewPoint, rules: Rules, where: string): void {
  checkDimension(vector, rules.dimension, where);
  if (!payload.content.isWellFormed()) {
    throw invalid(`${where}payload.content holds a lone surrogate, expected Unicode text`);
  }
  const { maxContentBytes } = rules.limits;
  // A UTF-16 unit takes at most 3 bytes of UTF-8: most contents need no count.
  if (payload.content.length * 3 <= maxContentBytes) return;
  const bytes = Buffer.byteLength(payload.content);
  if (bytes > maxContentBytes) {
    throw new VectordError(
      'TOO_LARGE',
      `${where}payload.content has ${bytes} bytes, ` +
        `at most ${maxContentBytes} are allowed (MAX_CONTENT_BYTES)`,
    );
  }
}

function encodeContents(points: readonly NewPoint[]): Pick<PointBatch, 'contents' | 'contentEnds'> {
  let end = 0;
  const contentEnds = Uint32Array.from(points, ({ payload }) => {
    end += Buffer.byteLength(payload.content);
    return end;
  });
  // Memory of its own, which can go from thread to thread.
  const contents = Buffer.allocUnsafeSlow(end);
  points.forEach(({ payload }, index) => {
    contents.write(payload.content, contentEnds[index - 1] ?? 0);
  });
  return { contents, contentEnds };
}
