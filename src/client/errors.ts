/**
 * What went wrong: the codes of the service, and two of what lies between it and the client. The
 * OUTCOME_UNKNOWN of a cluster is a TIMEOUT.
 */
export type ErrorCode =
  | 'INVALID_ARGUMENT'
  | 'UNAUTHENTICATED'
  | 'PERMISSION_DENIED'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'TOO_LARGE'
  | 'OVERLOADED'
  | 'UNAVAILABLE'
  | 'STORAGE_FULL'
  | 'TIMEOUT'
  | 'CANCELLED'
  | 'INTERNAL'
  | 'CONNECTION_LOST'
  | 'UNEXPECTED_ANSWER';

/** What is known of a failure besides its code and its message. */
export interface ErrorDetails {
  /** The failure that this one stands for. */
  readonly cause?: unknown;
  /** When the service asks to try again, in milliseconds from now. */
  readonly retryAfterMs?: number | undefined;
  /** Names the call in the log of the service. */
  readonly requestId?: string | undefined;
}

/** A call that failed. The message says what was found and what was expected. */
export abstract class VectordError extends Error {
  /** The name of the class. */
  abstract override readonly name: string;
  /** What went wrong, for programs; each class has one. */
  abstract readonly code: ErrorCode;
  /** Whether the same call may succeed later. */
  abstract readonly retryable: boolean;
  /** When the service asks to try again, in milliseconds from the failure; undefined if it does not. */
  readonly retryAfterMs: number | undefined;
  /** Names the call in the log of the service; undefined if the service has not answered. */
  readonly requestId: string | undefined;

  constructor(message: string, { cause, retryAfterMs, requestId }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.retryAfterMs = retryAfterMs;
    this.requestId = requestId;
  }
}

/** The call is not as it should be; the message names the field. */
export class InvalidArgumentError extends VectordError {
  override readonly name = 'InvalidArgumentError';
  readonly code = 'INVALID_ARGUMENT';
  readonly retryable = false;
}

/** The key is missing or not known. */
export class UnauthenticatedError extends VectordError {
  override readonly name = 'UnauthenticatedError';
  readonly code = 'UNAUTHENTICATED';
  readonly retryable = false;
}

/** A readonly key is used to write. */
export class PermissionDeniedError extends VectordError {
  override readonly name = 'PermissionDeniedError';
  readonly code = 'PERMISSION_DENIED';
  readonly retryable = false;
}

/** The point that a search names with `like` is not there. */
export class NotFoundError extends VectordError {
  override readonly name = 'NotFoundError';
  readonly code = 'NOT_FOUND';
  readonly retryable = false;
}

/** There are not as many points as was confirmed; the message says how many there are. */
export class ConflictError extends VectordError {
  override readonly name = 'ConflictError';
  readonly code = 'CONFLICT';
  readonly retryable = false;
}

/** The request or its answer is beyond a limit of the service. */
export class TooLargeError extends VectordError {
  override readonly name = 'TooLargeError';
  readonly code = 'TOO_LARGE';
  readonly retryable = false;
}

/** The service has too much to do. It has not begun the call. */
export class OverloadedError extends VectordError {
  override readonly name = 'OverloadedError';
  readonly code = 'OVERLOADED';
  readonly retryable = true;
}

/** The service stops, or takes no writes for now. It has not carried out the call. */
export class UnavailableError extends VectordError {
  override readonly name = 'UnavailableError';
  readonly code = 'UNAVAILABLE';
  readonly retryable = true;
}

/** The disk of the service is full; reads and deletes go on. */
export class StorageFullError extends VectordError {
  override readonly name = 'StorageFullError';
  readonly code = 'STORAGE_FULL';
  readonly retryable = false;
}

/**
 * The deadline has passed, the service has waited too long, or a cluster does not know whether its
 * replicas have stored a write. Whether a write was done is open.
 */
export class TimeoutError extends VectordError {
  override readonly name = 'TimeoutError';
  readonly code = 'TIMEOUT';
  readonly retryable = true;
}

/** The caller has given the call up, or closed the client. Whether a write was done is open. */
export class CancelledError extends VectordError {
  override readonly name = 'CancelledError';
  readonly code = 'CANCELLED';
  readonly retryable = false;
}

/** A fault of the service, whose log has the reason under `requestId`. */
export class InternalError extends VectordError {
  override readonly name = 'InternalError';
  readonly code = 'INTERNAL';
  readonly retryable = false;
}

/**
 * There was no connection, or it broke before the answer. Whether a write was done is open, unless
 * nothing was sent.
 */
export class ConnectionLostError extends VectordError {
  override readonly name = 'ConnectionLostError';
  readonly code = 'CONNECTION_LOST';
  readonly retryable = true;
  /** Whether it is certain that nothing was sent, since there was no connection. */
  readonly isUnsent: boolean;

  constructor(
    message: string,
    { isUnsent = false, ...details }: ErrorDetails & { readonly isUnsent?: boolean } = {},
  ) {
    super(message, details);
    this.isUnsent = isUnsent;
  }
}

/** What answered is no vectord, or one of a version that lacks the call. */
export class UnexpectedAnswerError extends VectordError {
  override readonly name = 'UnexpectedAnswerError';
  readonly code = 'UNEXPECTED_ANSWER';
  readonly retryable = false;
}

type ErrorClass = new (message: string, details?: ErrorDetails) => VectordError;

const CLASSES: ReadonlyMap<string, ErrorClass> = new Map(
  Object.entries({
    INVALID_ARGUMENT: InvalidArgumentError,
    UNAUTHENTICATED: UnauthenticatedError,
    PERMISSION_DENIED: PermissionDeniedError,
    NOT_FOUND: NotFoundError,
    CONFLICT: ConflictError,
    TOO_LARGE: TooLargeError,
    OVERLOADED: OverloadedError,
    UNAVAILABLE: UnavailableError,
    STORAGE_FULL: StorageFullError,
    TIMEOUT: TimeoutError,
    OUTCOME_UNKNOWN: TimeoutError,
    CANCELLED: CancelledError,
    INTERNAL: InternalError,
    CONNECTION_LOST: ConnectionLostError,
    UNEXPECTED_ANSWER: UnexpectedAnswerError,
  } satisfies Record<ErrorCode | 'OUTCOME_UNKNOWN', ErrorClass>),
);

/** The error of a code that the service has answered; one that is not known is unexpected. */
export function errorOf(code: string, message: string, details?: ErrorDetails): VectordError {
  return new (CLASSES.get(code) ?? UnexpectedAnswerError)(message, details);
}

/** The same failure with another message; the same itself where that is as before. */
export function reworded(failure: VectordError, reword: (message: string) => string): VectordError {
  const message = reword(failure.message);
  return message === failure.message ? failure : errorOf(failure.code, message, failure);
}

/** What a program is told that has given no key. */
export const NO_KEY = 'no key: connect(address, { key })';

/** The failure of a call that was made with this key: the service cannot say where to give one. */
export function ofKey<Failure>(failure: Failure, key: string | undefined): Failure | VectordError {
  if (key !== undefined || !(failure instanceof UnauthenticatedError)) return failure;
  return reworded(failure, () => NO_KEY);
}
