import { randomUUID } from 'node:crypto';
import { ServerError } from 'nice-grpc-common';
import { VectordError } from '../core/errors.js';

/** The metadata that names a call, in its answer and in the log. */
export const REQUEST_ID = 'x-request-id';

/** A failure as the client may see it; the log has the cause, under the request's id. */
export function toServerError(error: unknown, requestId: string = randomUUID()): ServerError {
  if (error instanceof ServerError) return error;
  const known = error instanceof VectordError && error.code !== 'INTERNAL' ? error : undefined;
  const { grpcStatus } = known ?? new VectordError('INTERNAL', '');
  const details = known?.message ?? `Internal server error (request ${requestId})`;
  const failure = withoutStack(() => new ServerError(grpcStatus, details));
  failure.cause = error;
  return failure;
}

/** Nobody reads the stack of what is sent, and it takes most of the time to make the error. */
function withoutStack<Made>(make: () => Made): Made {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
