import { errorOf, InvalidArgumentError, VectordError as ClientError } from '../client/errors.js';
import { VectordError } from '../core/errors.js';
import { StartError } from '../core/start-error.js';
import { asEngineError } from '../engine/errors.js';

/** A failure of the engine or of a rule, as the client of a service has it. */
export function failureOf(error: unknown): unknown {
  if (error instanceof ClientError) return error;
  if (error instanceof StartError) return new InvalidArgumentError(error.message, { cause: error });
  if (!(error instanceof VectordError)) return error;
  const { code, message, retryAfterS, cause } = error;
  const retryAfterMs = retryAfterS === undefined ? undefined : retryAfterS * 1_000;
  // Another process has the folder, which may let it go.
  const isLocked = asEngineError(cause).code === 'LOCKED';
  return errorOf(isLocked ? 'UNAVAILABLE' : code, message, { cause: error, retryAfterMs });
}
