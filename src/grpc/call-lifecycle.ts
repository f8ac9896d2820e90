import { randomUUID } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http2';
import { Status, type ServerError } from 'nice-grpc-common';
import { Reservation } from '../admission/memory-budget.js';
import { LEAST_BYTES_PER_CHECK, CHECK_MS } from '../admission/min-data-rate.js';
import { VectordError } from '../core/errors.js';
import type { EndedRequest, Operation, Requests } from '../observe/requests.js';
import type { RequestTrace } from '../observe/tracing.js';
import { watchMessage, type MessageNotes } from './call-notes.js';
import { statusDetails } from './error-details.js';
import type { Allowance, Method } from './methods.js';
import { REQUEST_ID, toServerError } from './server-error.js';
import { STATUS_DETAILS } from './transport/metadata.js';
import type { CallPolicy, OpenCall } from './transport/policy.js';

/**
 * How long a request may take to arrive, and how long its answer may wait to be read: enough for
 * the largest over a slow line.
 */
const TRANSFER_MS = 300_000;

/** What only the service can be to blame for, whatever was asked of it. */
const SERVICE_FAULTS: ReadonlySet<Status> = new Set([
  Status.INTERNAL,
  Status.UNKNOWN,
  Status.UNAVAILABLE,
  Status.DATA_LOSS,
]);

/** One call from its headers to its status: what it takes, how long it may take, how it ends. */
export class CallLifecycle implements CallPolicy, EndedRequest, MessageNotes {
  readonly operation: Operation;
  readonly startedAtMs: number;
  readonly refusal: ServerError | undefined;
  readonly #allowance: Allowance;
  readonly #reservation: Reservation;
  #call: OpenCall | undefined;
  /** What the message of the call asks for, as far as it has been read. */
  asked: unknown;
  /** What the arrays that a message was read into take beyond it, until it is handled. */
  #arrayBytes = 0;
  #requestId: string | undefined;
  #failure: unknown;
  #isNoted = false;
  #receivedBytes = 0;
  /** Bytes of the request that waited unread at the last check: they are reserved already. */
  #unreadBytes = 0;
  #freeBytes: number;
  /** When the request has come whole, or its answer was sent. */
  #isReceived = false;
  #answeredAtMs: number | undefined;
  #checkedAtMs: number;
  #bytesAtCheck = 0;
  /** Whether a message has come whole, or an answer was sent, since the last look at the call. */
  #hasGoneOn = false;
  /** Since when a message goes out that has not been sent. */
  #sendingSinceMs: number | undefined;

  constructor(
    private readonly method: Method,
    refusal: VectordError | undefined,
    private readonly requests: Requests,
    private readonly onEnd: (record: CallLifecycle) => void,
    readonly trace: RequestTrace | undefined,
    /** Why the call could not be made any more with the keys of now, if it could not. */
    readonly refusalNow: () => VectordError | undefined,
  ) {
    this.operation = method.operation;
    this.#allowance = method.allowance;
    this.#reservation = new Reservation(this.#allowance.inflight);
    this.#freeBytes = this.#allowance.freeBytes;
    this.startedAtMs = requests.begin();
    this.#checkedAtMs = this.startedAtMs;
    if (refusal !== undefined) this.refusal = this.#toServerError(refusal);
  }

  get hasKey(): boolean {
    return this.method.access !== 'anyone' && this.refusal === undefined;
  }

  get bytes(): number {
    return this.#receivedBytes;
  }

  /** Made where it is wanted: most calls are neither logged nor refused. */
  get requestId(): string {
    this.#requestId ??= randomUUID();
    return this.#requestId;
  }

  get failure(): unknown {
    return this.#failure;
  }

  watch(call: OpenCall): void {
    this.#call = call;
  }

  received(bytes: number): void {
    const seenBytes = Math.min(bytes, this.#unreadBytes);
    this.#unreadBytes -= seenBytes;
    this.#receivedBytes += bytes;
    this.#checkSize(this.#receivedBytes);
    this.#reserve(bytes - seenBytes);
  }

  #checkSize(bytes: number): void {
    const { maxBytes, settings } = this.#allowance;
    if (bytes > maxBytes) {
      throw this.#toServerError(
        new VectordError(
          'TOO_LARGE',
          `the call sends more than the ${maxBytes} bytes that its method takes at most${settings}`,
        ),
      );
    }
  }

  decoded(message: unknown): void {
    this.asked = message;
    this.#hasGoneOn = true;
    watchMessage(message, this);
  }

  hasRead(asked: object, messageBytes: number): void {
    this.asked = asked;
    this.#arrayBytes += this.#reservation.takeArrays(asked, messageBytes);
  }

  requestEnded(): void {
    this.#isReceived = true;
  }

  sending(bytes: number): void {
    this.#sendingSinceMs ??= performance.now();
    if (this.#allowance.countsAnswers) this.#reserve(bytes);
  }

  handled(bytes: number): void {
    this.#release(bytes + this.#arrayBytes);
    this.#arrayBytes = 0;
  }

  sent(bytes: number): void {
    this.#sendingSinceMs = undefined;
    this.#hasGoneOn = true;
    if (this.#allowance.countsAnswers) this.#release(bytes);
  }

  /** Names the call in what is logged or tells of a failure, and says why it failed. */
  answered(code: Status, trailers: OutgoingHttpHeaders, failure: unknown): void {
    this.#failure = failure instanceof Error ? (failure.cause ?? failure) : failure;
    if (code !== Status.OK) {
      this.#requestId ??= idIn(trailers) ?? randomUUID();
      const details = statusDetails(code, this.#failure);
      if (details !== undefined) trailers[STATUS_DETAILS] = details;
    }
    this.#note(code);
    // Of a call that went well, only one that was logged has got a name.
    if (this.#requestId !== undefined) trailers[REQUEST_ID] = this.#requestId;
    this.#answeredAtMs = performance.now();
  }

  /** Gives back what the call took. One that was not answered was given up by its client. */
  ended(): void {
    this.#note(Status.CANCELLED);
    this.#reservation.end();
    this.onEnd(this);
  }

  /**
   * Ends a stream whose key opens the service no longer: it may last as long as its client likes. Any
   * other call comes to its end.
   */
  recheckKey(): void {
    if (!this.hasKey || !this.operation.isEndless) return;
    const refusal = this.refusalNow();
    if (refusal !== undefined) this.#call?.fail(this.#toServerError(refusal));
  }

  /**
   * Ends the call when its request stops arriving, its answer is not read, or what waits unread of it
   * takes too much.
   */
  check(nowMs: number): void {
    const call = this.#call;
    if (call === undefined) return;
    try {
      this.#countUnread(call.unreadBytes);
    } catch (error) {
      call.fail(this.#toServerError(error));
    }
    const sendingSinceMs = this.#answeredAtMs ?? this.#sendingSinceMs;
    if (sendingSinceMs !== undefined) {
      if (nowMs - sendingSinceMs > TRANSFER_MS) call.cut();
    } else if (!this.#isReceived && this.#isSlow(call, nowMs)) {
      call.fail(
        this.#toServerError(new VectordError('TIMEOUT', 'The request did not arrive in time')),
      );
    }
  }

  #countUnread(bytes: number): void {
    this.#checkSize(this.#receivedBytes + bytes);
    const more = bytes - this.#unreadBytes;
    if (more > 0) this.#reserve(more);
    else this.#release(-more);
    this.#unreadBytes = bytes;
  }

  #isSlow(call: OpenCall, nowMs: number): boolean {
    const isLimited = !this.hasKey || !this.operation.isEndless;
    if (isLimited && nowMs - this.startedAtMs > TRANSFER_MS) return true;
    if (!this.hasKey) return false;
    // The messages of a stream come when its client likes: only one that has begun must go on.
    const isWithin = call.awaitsMore && !this.#hasGoneOn;
    if (isWithin && nowMs - this.#checkedAtMs < CHECK_MS) return false;
    const isSlow = this.#receivedBytes - this.#bytesAtCheck < LEAST_BYTES_PER_CHECK;
    this.#checkedAtMs = nowMs;
    this.#bytesAtCheck = this.#receivedBytes;
    this.#hasGoneOn = false;
    return isWithin && isSlow;
  }

  #reserve(bytes: number): void {
    const free = Math.min(bytes, this.#freeBytes);
    this.#freeBytes -= free;
    if (bytes === free) return;
    try {
      this.#reservation.take(bytes - free);
    } catch (error) {
      throw this.#toServerError(error);
    }
  }

  /** What was free of charge is not given back. */
  #release(bytes: number): void {
    this.#reservation.give(Math.min(bytes, this.#reservation.bytes));
  }

  #toServerError(error: unknown): ServerError {
    return toServerError(error, this.requestId);
  }

  #note(code: Status): void {
    if (this.#isNoted) return;
    this.#isNoted = true;
    this.requests.end(this, code, code !== Status.OK && this.#isFault(code));
  }

  #isFault(code: Status): boolean {
    const { failure } = this;
    if (failure instanceof VectordError) return failure.isFault;
    return SERVICE_FAULTS.has(code);
  }
}

function idIn(trailers: OutgoingHttpHeaders): string | undefined {
  const id = trailers[REQUEST_ID];
  return Array.isArray(id) ? id[0] : id?.toString();
}
