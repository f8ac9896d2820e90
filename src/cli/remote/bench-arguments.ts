import type { Filter, Similarity } from '../../client/model.js';
import type { Format } from '../../transfer/formats.js';
import type { ServerOptions } from '../server-options.js';

/** The options of `vectord bench`. */
export interface BenchArguments extends ServerOptions {
  readonly format?: Format;
  readonly vector: string;
  readonly delimiter?: string;
  readonly queries: number;
  readonly similarity: Similarity;
  readonly k: number;
  readonly ef: readonly number[];
  readonly concurrency: number;
  readonly seconds: number;
  readonly filter?: Filter;
  readonly json?: true;
}
