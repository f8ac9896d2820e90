import type { Filter } from '../../client/model.js';
import type { Format } from '../../transfer/formats.js';
import type { ServerOptions } from '../server-options.js';

/** The options of `vectord export`. */
export interface ExportArguments extends ServerOptions {
  readonly format?: Format;
  readonly filter?: Filter;
  readonly base64?: true;
  readonly force?: true;
}
