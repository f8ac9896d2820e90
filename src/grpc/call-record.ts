import { randomUUID } from 'node:crypto';
import { Metadata, status } from '@grpc/grpc-js';
import { VectordError } from '../core/errors.js';
import { Reservation, type MemoryBudget } from '../admission/memory-budget.js';
import type { EndedRequest, Operation, Requests } from '../observe/requests.js';
import { notesOn } from './call-notes.js';
import { toStatus, type CallHooks, type CallStatus } from './seams.js';

/** The metadata that names a call, in its answer and in the log. */
export const REQUEST_ID = 'x-request-id';

/** How grpc-js says that a request cannot be read, which it calls INTERNAL. */
const CLIENT_FAULTS = ['Invalid grpc-timeout value', 'Error deserializing request'];

/** How it says that an answer cannot be sent, as `takeAnswer` refuses it. */
const REFUSED_ANSWER = 'Error serializing response';

/** How it says that a message is beyond MAX_REQUEST_BYTES. */
const TOO_LARGE = /^Received message larger than max \((\d+) vs (\d+)\)$/;

/** What only the service can be to blame for, whatever was asked of it. */
const SERVICE_FAULTS: ReadonlySet<status> = new Set([
  status.INTERNAL,
  status.UNKNOWN,
  status.UNAVAILABLE,
  status.DATA_LOSS,
]);

/** What a call of one kind may take. */
export interface Allowance {
  /** The most that its messages may have in all. */
  readonly maxBytes: number;
  /** The settings that it follows from. */
  readonly settings: string;
  /** What takes nothing of the budget. */
  readonly freeBytes: number;
  /** The budget of all calls of this kind. */
  readonly inflight: MemoryBudget;
  /** Whether answers take of it, too, until they have been read. */
  readonly countsAnswers: boolean;
}

/** One call from its headers to its status: what it takes from the common budget, how it ends. */
export class CallRecord implements CallHooks, EndedRequest {
  /** The message of the call, as its codec reads it. */
  message: object | undefined;
  readonly startedAtMs: number;
  readonly #reservation: Reservation;
  #requestId: string | undefined;
  #failure: unknown;
  #isNoted = false;
  #receivedBytes = 0;
  #freeBytes: number;

  constructor(
    readonly operation: Operation,
    private readonly allowance: Allowance,
    private readonly requests: Requests,
    arrivedAtMs?: number,
  ) {
    this.#reservation = new Reservation(allowance.inflight);
    this.#freeBytes = allowance.freeBytes;
    this.startedAtMs = requests.begin(arrivedAtMs);
  }

  get hasEnded(): boolean {
    return this.#reservation.hasEnded;
  }

  get bytes(): number {
    return this.#receivedBytes;
  }

  /** Made where it is wanted: most calls are neither logged nor refused. */
  get requestId(): string {
    this.#requestId ??= randomUUID();
    return this.#requestId;
  }

  get asked(): unknown {
    return notesOn(this.message).asked ?? this.message;
  }

  get failure(): unknown {
    return this.#failure ?? notesOn(this.message).failure;
  }

  take(bytes: number): void {
    const { maxBytes, settings } = this.allowance;
    this.#receivedBytes += bytes;
    if (this.#receivedBytes > maxBytes) {
      throw new VectordError(
        'TOO_LARGE',
        `the call sends more than the ${maxBytes} bytes that its method takes at most${settings}`,
      );
    }
    this.#reserve(bytes);
  }

  /** Takes what an answer of this size will take, before it is made. */
  prepayAnswer(bytes: number): void {
    this.takeAnswer(bytes);
    this.#freeBytes += bytes;
  }

  takeAnswer(bytes: number): void {
    if (this.allowance.countsAnswers) this.#reserve(bytes);
  }

  #reserve(bytes: number): void {
    const free = Math.min(bytes, this.#freeBytes);
    this.#freeBytes -= free;
    if (bytes === free) return;
    try {
      this.#reservation.take(bytes - free);
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  /** Notes why the call fails, where no handler does. */
  fail(failure: unknown): void {
    this.#failure = failure;
  }

  /** Gives back what the call took. One that was not answered was given up by its client. */
  end(): void {
    this.#note(status.CANCELLED);
    this.#reservation.end();
  }

  /** Names the call in what is logged or tells of a failure, and puts the blame where it belongs. */
  answer(given: CallStatus): CallStatus {
    const isRefused = given.details?.startsWith(REFUSED_ANSWER) === true;
    const answer = isRefused ? toStatus(this.#failure) : given;
    const details = (answer.details ?? '').replace(
      TOO_LARGE,
      'the message has $1 bytes, at most $2 are allowed (MAX_REQUEST_BYTES)',
    );
    const isClientFault =
      answer.code === status.INTERNAL && CLIENT_FAULTS.some((start) => details.startsWith(start));
    const code = isClientFault ? status.INVALID_ARGUMENT : (answer.code ?? status.INTERNAL);
    if (code !== status.OK) {
      this.#requestId ??= answer.metadata?.get(REQUEST_ID)[0]?.toString() ?? randomUUID();
    }
    this.#note(code);
    // Of a call that went well, only one that was logged has got a name.
    if (this.#requestId === undefined) return answer;
    const metadata = answer.metadata ?? new Metadata();
    metadata.set(REQUEST_ID, this.#requestId);
    return { code, details, metadata };
  }

  #note(code: status): void {
    if (this.#isNoted) return;
    this.#isNoted = true;
    this.requests.end(this, code, code !== status.OK && this.#isFault(code));
  }

  #isFault(code: status): boolean {
    const { failure } = this;
    if (failure instanceof VectordError) return failure.isFault;
    return SERVICE_FAULTS.has(code);
  }
}
