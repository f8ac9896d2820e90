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
  const reason = OPEN_CODES.get(asEngineError(cause).code) ?? code;
  return errorOf(reason, message, { cause: error, retryAfterMs });
}

/** Why a folder is not opened, by the codes of the engine; a service answers no call of these. */
const OPEN_CODES: ReadonlyMap<string | undefined, ErrorCode> = new Map([
  ['DIMENSION_MISMATCH', 'INVALID_ARGUMENT'],
  // Another process has the folder, which may let it go.
  ['LOCKED', 'UNAVAILABLE'],
]);

/** The same of an open, whose options have other names than the settings of the service. */
export function openFailureOf(error: unknown): unknown {
  const failure = failureOf(error);
  if (failure instanceof ClientError) {
    failure.message = failure.message.replaceAll('DIMENSION', 'dimension');
    failure.message = failure.message.replaceAll('DATA_PATH', 'path');
  }
  return failure;
}
