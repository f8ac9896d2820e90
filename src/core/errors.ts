import type { Status } from 'nice-grpc';

/**
 * The statuses of gRPC that a failure has. The compiler compares the numbers with those of the
 * library: to import them would load all of it into the thread that reads requests.
 */
const GRPC = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const satisfies { readonly [Name in keyof typeof Status]?: (typeof Status)[Name] };

interface Failure {
  readonly http: number;
  readonly grpc: Status;
  /** What tells this failure from others of its gRPC status. */
  readonly reason?: string;
  /** Where the same request may succeed soon: when to try again. */
  readonly retryAfterS?: number;
}

/**
 * Every way in which a request can fail, with the status that each protocol answers: the one
 * table of its kind. A code says what went wrong; the message says it to the client.
 */
const STATUSES = {
  INVALID_ARGUMENT: { http: 400, grpc: GRPC.INVALID_ARGUMENT },
  UNAUTHENTICATED: { http: 401, grpc: GRPC.UNAUTHENTICATED },
  PERMISSION_DENIED: { http: 403, grpc: GRPC.PERMISSION_DENIED },
  NOT_FOUND: { http: 404, grpc: GRPC.NOT_FOUND },
  METHOD_NOT_ALLOWED: { http: 405, grpc: GRPC.UNIMPLEMENTED },
  TIMEOUT: { http: 408, grpc: GRPC.DEADLINE_EXCEEDED },
  CONFLICT: { http: 409, grpc: GRPC.FAILED_PRECONDITION },
  // No client sees this: it has gone. HTTP has no status for it; this one is what others count.
  CANCELLED: { http: 499, grpc: GRPC.CANCELLED },
  TOO_LARGE: { http: 413, grpc: GRPC.RESOURCE_EXHAUSTED, reason: 'REQUEST_TOO_LARGE' },
  UNSUPPORTED_MEDIA_TYPE: { http: 415, grpc: GRPC.INVALID_ARGUMENT },
  INTERNAL: { http: 500, grpc: GRPC.INTERNAL },
  OVERLOADED: { http: 503, grpc: GRPC.RESOURCE_EXHAUSTED, reason: 'OVERLOADED', retryAfterS: 1 },
  UNAVAILABLE: { http: 503, grpc: GRPC.UNAVAILABLE, reason: 'UNAVAILABLE', retryAfterS: 1 },
  // Only in a cluster: a write was sent to the replicas, and it is not known whether it is stored.
  OUTCOME_UNKNOWN: { http: 504, grpc: GRPC.DEADLINE_EXCEEDED, reason: 'OUTCOME_UNKNOWN' },
  STORAGE_FULL: { http: 507, grpc: GRPC.RESOURCE_EXHAUSTED, reason: 'STORAGE_FULL' },
} as const satisfies Readonly<Record<string, Failure>>;

export type ErrorCode = keyof typeof STATUSES;

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(STATUSES, text);
}

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
    return this.#failure.http;
  }

  get grpcStatus(): Status {
    return this.#failure.grpc;
  }

  get reason(): string | undefined {
    return this.#failure.reason;
  }

  get retryAfterS(): number | undefined {
    return this.#failure.retryAfterS;
  }

  /** Whether the service is to blame, or its machine, and not what the client asked for. */
  get isFault(): boolean {
    return this.httpStatus >= 500;
  }

  get #failure(): Failure {
    return STATUSES[this.code];
  }
}

/** Shorthand for the failure that is the client's to mend. */
export function invalid(message: string): VectordError {
  return new VectordError('INVALID_ARGUMENT', message);
}
