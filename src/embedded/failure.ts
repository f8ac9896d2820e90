import { errorOf, InvalidArgumentError, VectordError as ClientError } from '../client/errors.js';
import { VectordError, type ErrorCode } from '../core/errors.js';
import { StartError } from '../core/start-error.js';
import { asEngineError } from '../engine/errors.js';

/** A failure of the engine or of a rule, as the client of a service has it. */
export function failureOf(error: unknown): unknown {
  if (error instanceof ClientError) return error;
  if (error instanceof StartError) return new InvalidArgumentError(error.message, { cause: error });
  if (!(error instanceof VectordError)) return error;
  const { code, message, retryAfterS, cause } = error;
  const retryAfterMs = retryAfterS === undefined ? undefined : retryAfterS * 1_000;
  const found = asEngineError(cause).code;
  const known = OPEN_FAILURES.find(({ engine, part }) => engine === found && part.test(message));
  const text = known === undefined ? message : message.replace(known.part, known.instead);
  return errorOf(known?.code ?? code, text, { cause: error, retryAfterMs });
}

interface OpenFailure {
  /** The code of the engine. */
  readonly engine: string;
  readonly part: RegExp;
  readonly code: ErrorCode;
  /** What stands in the place of that part: the engine speaks of the settings of a service. */
  readonly instead: string;
}

/** Why a folder is not opened; a service answers no call of these. */
const OPEN_FAILURES: readonly OpenFailure[] = [
  {
    engine: 'DIMENSION_MISMATCH',
    part: /DIMENSION is (\d+): .*/,
    code: 'INVALID_ARGUMENT',
    instead: 'dimension is $1: leave it out, or give another path',
  },
  // The folder belongs to something else.
  {
    engine: 'IO',
    part: /it needs a folder of its own$/,
    code: 'INVALID_ARGUMENT',
    instead: '$&',
  },
  // Another process has the folder, which may let it go.
  { engine: 'LOCKED', part: /$/, code: 'UNAVAILABLE', instead: '' },
];
