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
  const [reason, advice] = OPEN_FAILURES.get(asEngineError(cause).code) ?? [code, ''];
  return errorOf(reason, `${advice}${message}`, { cause: error, retryAfterMs });
}

/**
 * Why a folder is not opened, by the codes of the engine; a service answers no call of these. The
 * engine speaks of the settings of a service: what to do about the options is said before it.
 */
const OPEN_FAILURES: ReadonlyMap<string | undefined, readonly [ErrorCode, advice: string]> =
  new Map([
    [
      'DIMENSION_MISMATCH',
      [
        'INVALID_ARGUMENT',
        'dimension is not that of the folder: leave it out, or give another path; ',
      ],
    ],
    // Another process has the folder, which may let it go.
    ['LOCKED', ['UNAVAILABLE', '']],
  ]);
