// Of grpc-js this one file: the thread that reads requests has no use for the rest of it.
import { Status as status } from '@grpc/grpc-js/build/src/constants.js';

/**
 * Every way in which a request can fail, with the status that each protocol answers: the one
 * table of its kind. A code says what went wrong; the message says it to the client.
 */
const STATUSES = {
  INVALID_ARGUMENT: { http: 400, grpc: status.INVALID_ARGUMENT },
  UNAUTHENTICATED: { http: 401, grpc: status.UNAUTHENTICATED },
  PERMISSION_DENIED: { http: 403, grpc: status.PERMISSION_DENIED },
  NOT_FOUND: { http: 404, grpc: status.NOT_FOUND },
  METHOD_NOT_ALLOWED: { http: 405, grpc: status.UNIMPLEMENTED },
  TIMEOUT: { http: 408, grpc: status.DEADLINE_EXCEEDED },
  // No client sees this: it has gone. HTTP has no status for it; this one is what others count.
  CANCELLED: { http: 499, grpc: status.CANCELLED },
  TOO_LARGE: { http: 413, grpc: status.RESOURCE_EXHAUSTED },
  UNSUPPORTED_MEDIA_TYPE: { http: 415, grpc: status.INVALID_ARGUMENT },
  INTERNAL: { http: 500, grpc: status.INTERNAL },
  OVERLOADED: { http: 503, grpc: status.RESOURCE_EXHAUSTED },
  UNAVAILABLE: { http: 503, grpc: status.UNAVAILABLE },
  STORAGE_FULL: { http: 507, grpc: status.RESOURCE_EXHAUSTED },
} as const;

export type ErrorCode = keyof typeof STATUSES;

/** A failure whose message is meant for the client. */
export class VectordError extends Error {
  override readonly name = 'VectordError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  get httpStatus(): number {
    return STATUSES[this.code].http;
  }

  get grpcStatus(): status {
    return STATUSES[this.code].grpc;
  }

  /** Whether the service is to blame, or its machine, and not what the client asked for. */
  get isFault(): boolean {
    return this.httpStatus >= 500;
  }
}

/** Shorthand for the failure that is the client's to mend. */
export function invalid(message: string): VectordError {
  return new VectordError('INVALID_ARGUMENT', message);
}
