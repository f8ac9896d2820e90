import type { Metadata, ServerInterceptingCallInterface } from '@grpc/grpc-js';
import { VectordError } from '../core/errors.js';
import { LEAST_BYTES_PER_LOOK, LOOK_MS } from '../admission/min-data-rate.js';
import type { CallRecord } from './call-record.js';
import { LargeIds } from '../wire/protobuf/large-ids.js';
import { closeCall, toStatus } from './seams.js';

type Call = ServerInterceptingCallInterface;
type Listener = Parameters<Call['start']>[0];

/**
 * For so many looks a request may go on arriving, and its answer may wait to be read: long enough
 * for the largest over a slow line.
 */
const TRANSFER_LOOKS = 30;

/**
 * A call as its handler sees it, and the listener that hears of it first. `ServerInterceptingCall`
 * of grpc-js does the same with a dozen functions made for each call, which a small one can feel.
 */
export class GatedCall implements Call, Listener {
  #listener: Listener | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isReceived = false;
  #isAnswered = false;
  /** Looks since the call began, or since it was answered. */
  #looks = 0;
  #bytesAtLook = 0;

  constructor(
    private readonly call: Call,
    private readonly record: CallRecord,
    /** Why the call may not be made, if it may not. */
    private readonly checkAccess: (metadata: Metadata) => VectordError | undefined,
    /** Whether its request has to go on arriving; that of a stream comes when its client likes. */
    private readonly looksForStalls: boolean,
  ) {}

  start(listener: Listener): void {
    this.#listener = listener;
    this.call.start(this);
  }

  onReceiveMetadata(metadata: Metadata): void {
    const refusal = this.checkAccess(metadata) ?? this.#checkDeadline();
    if (refusal !== undefined) {
      this.#refuse(refusal);
      return;
    }
    this.#timer = setTimeout(() => this.#look(), LOOK_MS).unref();
    this.#listener?.onReceiveMetadata(metadata);
  }

  onReceiveMessage(message: object): void {
    this.record.message = message;
    if (!this.record.hasEnded) this.#listener?.onReceiveMessage(message);
  }

  /** Nothing is begun for a client that would not hear the answer. */
  onReceiveHalfClose(): void {
    this.#isReceived = true;
    if (this.record.hasEnded) return;
    const refusal = this.#checkDeadline();
    if (refusal === undefined) this.#listener?.onReceiveHalfClose();
    else this.#refuse(refusal);
  }

  /** Comes at the end of every call, whichever way it ends. */
  onCancel(): void {
    clearTimeout(this.#timer);
    this.record.end();
    this.#listener?.onCancel();
  }

  sendMetadata(metadata: Metadata): void {
    this.call.sendMetadata(metadata);
  }

  sendMessage(message: unknown, callback: () => void): void {
    if (message instanceof LargeIds) void this.#sendLarge(message, callback);
    else this.call.sendMessage(message, callback);
  }

  sendStatus(status: Parameters<Call['sendStatus']>[0]): void {
    this.#isAnswered = true;
    this.#looks = 0;
    this.call.sendStatus(status);
  }

  startRead(): void {
    this.call.startRead();
  }

  getPeer(): string {
    return this.call.getPeer();
  }

  getDeadline(): ReturnType<Call['getDeadline']> {
    return this.call.getDeadline();
  }

  getHost(): string {
    return this.call.getHost();
  }

  getAuthContext(): ReturnType<Call['getAuthContext']> {
    return this.call.getAuthContext();
  }

  getConnectionInfo(): ReturnType<Call['getConnectionInfo']> {
    return this.call.getConnectionInfo();
  }

  getMetricsRecorder(): ReturnType<Call['getMetricsRecorder']> {
    return this.call.getMetricsRecorder();
  }

  /**
   * A small query may ask for the ids of all points: they count until the call has ended. Of one
   * that ends before they are encoded, nothing is sent any more.
   */
  async #sendLarge(message: LargeIds, callback: () => void): Promise<void> {
    const { record } = this;
    if (record.hasEnded) return;
    try {
      record.prepayAnswer(message.byteLength);
      await message.encode(() => !record.hasEnded);
      if (!record.hasEnded) this.call.sendMessage(message, callback);
    } catch (error) {
      record.fail(error);
      this.call.sendStatus(toStatus(error));
    }
  }

  /** One timer for both ways: most calls end long before. */
  #look(): void {
    this.#looks += 1;
    const { bytes } = this.record;
    if (!this.#isReceived && (this.#looks >= TRANSFER_LOOKS || this.#isStalled(bytes))) {
      this.#refuse(requestTimedOut());
      return;
    }
    this.#bytesAtLook = bytes;
    if (this.#isAnswered && this.#looks > TRANSFER_LOOKS) closeCall(this.call);
    this.#timer?.refresh();
  }

  /** Whether it holds what has come so far of a message, and brings no more of it. */
  #isStalled(bytes: number): boolean {
    return this.looksForStalls && bytes - this.#bytesAtLook < LEAST_BYTES_PER_LOOK;
  }

  /** Most calls have no deadline: they are not asked the time. */
  #checkDeadline(): VectordError | undefined {
    const deadline = Number(this.call.getDeadline());
    if (deadline === Infinity || deadline > Date.now()) return undefined;
    return new VectordError('TIMEOUT', 'The deadline of the call has passed');
  }

  #refuse(refusal: VectordError): void {
    this.call.sendStatus({ code: refusal.grpcStatus, details: refusal.message });
  }
}

function requestTimedOut(): VectordError {
  return new VectordError('TIMEOUT', 'The request did not arrive in time');
}
