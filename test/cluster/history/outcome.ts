import { VectordError } from '../../../src/client/node.js';
import type { Outcome } from './operation.js';

/** Failures by which a service says that it has changed nothing. */
const REFUSALS: ReadonlySet<string> = new Set([
  'INVALID_ARGUMENT',
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'NOT_FOUND',
  'CONFLICT',
  'TOO_LARGE',
  'OVERLOADED',
  'UNAVAILABLE',
  'STORAGE_FULL',
]);

/** How the system, and the gRPC library, say that there was no connection to send anything on. */
const NOT_SENT = /ECONNREFUSED|No connection established/;

/** What is known of an operation that failed with this error; what is no failure of a call is thrown. */
export function outcomeOf(error: unknown): { readonly outcome: Outcome; readonly code: string } {
  if (!(error instanceof VectordError)) throw error;
  const { code, message, cause } = error;
  const hasFailed =
    code === 'CONNECTION_LOST' ? NOT_SENT.test(`${message} ${String(cause)}`) : REFUSALS.has(code);
  return { outcome: hasFailed ? 'failed' : 'unknown', code };
}
