import { VectordError, type ErrorCode } from '../core/errors.js';
import { describeSingle, type DescribeItem } from '../core/rules.js';

/** The answer of a call of the addon, which throws a VectordError where it fails. */
export function translate<T>(call: () => T, describe: DescribeItem = describeSingle): T {
  try {
    return call();
  } catch (error) {
    throw toVectordError(error, describe);
  }
}

/** The same of a call that answers a promise. */
export async function translateAsync<T>(
  call: () => Promise<T>,
  describe: DescribeItem = describeSingle,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw toVectordError(error, describe);
  }
}

/** The engine's codes that clients hear of; every other one is a fault of the service. */
const CODES: ReadonlyMap<string, ErrorCode> = new Map([
  ['INVALID_ARGUMENT', 'INVALID_ARGUMENT'],
  ['NOT_FINITE', 'INVALID_ARGUMENT'],
  ['STORAGE_FULL', 'STORAGE_FULL'],
  ['OVERLOADED', 'OVERLOADED'],
  ['CLOSED', 'UNAVAILABLE'],
  ['ABANDONED', 'CANCELLED'],
  ['OTHER_COUNT', 'CONFLICT'],
  ['NO_SUCH_POINT', 'NOT_FOUND'],
  ['ANSWER_TOO_LARGE', 'TOO_LARGE'],
]);

/** What a message of the engine does not say: which setting it is about, and what to do. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ['ANSWER_TOO_LARGE', ' (MAX_REQUEST_BYTES): ask for fewer points, or include less'],
]);

/** What clients hear of a code of the engine. */
export function codeOf(engineCode: string): ErrorCode {
  return CODES.get(engineCode) ?? 'INTERNAL';
}

function toVectordError(error: unknown, describe: DescribeItem): VectordError {
  const { code = '', item, message } = asEngineError(error);
  const where = item === undefined ? '' : describe(item);
  return new VectordError(codeOf(code), `${where}${message}${HINTS.get(code) ?? ''}`, {
    cause: error,
  });
}

/** What the addon says of an error; what is no error of the engine has another code or none. */
interface EngineError extends Error {
  readonly code?: string;
  /** The index of the item of a batch that is to blame. */
  readonly item?: number;
}

export function asEngineError(error: unknown): EngineError {
  return error instanceof Error ? error : new Error(String(error));
}
