import { VectordError, invalid } from './errors.js';
import type { Limits } from './limits.js';

/** What every request has to keep to. */
export interface Rules {
  /** Values of each vector, stored or queried. */
  readonly dimension: number;
  readonly limits: Limits;
  /** The search breadth of a query that names none; in `/v1` the least, see `searchBreadth`. */
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
  throw tooManyItems({ maxBatch }, field, count);
}

export function tooManyItems(
  { maxBatch }: Pick<Limits, 'maxBatch'>,
  field: string,
  count: number,
): VectordError {
  return new VectordError(
    'TOO_LARGE',
    `${field} has ${count} items, at most ${maxBatch} are allowed (MAX_BATCH)`,
  );
}

/** What a refusal of a vector of this length says besides; that of the older interface is fixed. */
export type AdviseOnLength = (length: number) => string;

export const adviseOnDimension: AdviseOnLength = (length) =>
  `; a service with an empty folder stores such vectors if it is started with DIMENSION=${length}`;

/** Refuses a vector of another dimension; `where` says whose it is. */
export function checkDimension(
  length: number,
  dimension: number,
  where: string,
  advise: AdviseOnLength = () => '',
): void {
  if (length === dimension) return;
  const message = `${where}vector has ${length} dimensions, this service stores ${dimension}`;
  throw invalid(message + advise(length));
}

/** The same for many, of which this is where each ends. */
export function checkDimensions(
  ends: Uint32Array,
  dimension: number,
  describe: DescribeItem,
  advise?: AdviseOnLength,
): void {
  const wrong = ends.findIndex((end, index) => end !== (index + 1) * dimension);
  if (wrong < 0) return;
  const length = (ends[wrong] ?? 0) - (ends[wrong - 1] ?? 0);
  checkDimension(length, dimension, describe(wrong), advise);
}
