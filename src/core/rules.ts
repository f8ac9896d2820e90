import { VectordError, invalid } from './errors.js';
import type { Limits } from './limits.js';

/** What every request has to keep to. */
export interface Rules {
  /** Values of each vector, stored or queried. */
  readonly dimension: number;
  readonly limits: Limits;
  /** The search breadth of a query that names none. */
  readonly defaultEf: number;
}

/** Tells which item of a batch a message is about: a prefix such as `vectors[3]: `. */
export type DescribeItem = (index: number) => string;

export const describePoint: DescribeItem = (index) => `vectors[${index}]: `;
export const describeQuery: DescribeItem = (index) => `queries[${index}]: `;

/** Of a request that is no batch: there is nothing to tell apart. */
export const describeSingle: DescribeItem = () => '';

/** Refuses a batch of too many items; the codecs ask before they build the items. */
export function checkBatchSize(
  { maxBatch }: Pick<Limits, 'maxBatch'>,
  field: string,
  count: number,
): void {
  if (count <= maxBatch) return;
  throw new VectordError(
    'TOO_LARGE',
    `${field} has ${count} items, at most ${maxBatch} are allowed (MAX_BATCH)`,
  );
}

/** Refuses a vector of another dimension; `where` says whose it is. */
export function checkDimension(vector: Float32Array, dimension: number, where: string): void {
  if (vector.length === dimension) return;
  throw invalid(`${where}vector has ${vector.length} dimensions, this service stores ${dimension}`);
}
