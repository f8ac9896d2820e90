import type { Format } from '../../transfer/formats.js';
import type { OnNan } from '../../transfer/mapping.js';
import type { ServerOptions } from '../server-options.js';

/** The options of `vectord import`. */
export interface ImportArguments extends ServerOptions {
  readonly format?: Format;
  readonly id: string;
  readonly vector: string;
  readonly vectorColumns?: string;
  readonly content: string;
  readonly contentType: string;
  readonly metadata: string;
  readonly metadataColumns?: string;
  readonly texts?: string;
  readonly delimiter?: string;
  readonly nan?: OnNan;
  readonly sourceName?: string;
  readonly rejects?: string;
  readonly maxRejects: number;
  readonly state?: string;
  readonly restart?: true;
  readonly ifAbsent?: true;
  readonly window?: number;
  readonly patience?: number;
}
