import { randomUUID } from 'node:crypto';
import { Metadata, status } from '@grpc/grpc-js';
import { VectordError } from '../errors.js';
import { Reservation, type InflightBytes } from '../inflight.js';
import type { Logger } from '../logger.js';
import type { CallHooks, CallStatus } from './seams.js';

/** The metadata that names a failed call, in its answer and in the log. */
export const REQUEST_ID = 'x-request-id';

/** How grpc-js says that a request cannot be read, which it calls INTERNAL. */
const CLIENT_FAULTS = ['Invalid grpc-timeout value', 'Error deserializing request'];

/** One call from its headers to its status: what it takes from the common budget, how it ends. */
export class CallRecord implements CallHooks {
  readonly #reservation: Reservation;

  constructor(
    private readonly path: string,
    private readonly maxBytes: number,
    inflight: InflightBytes,
    private readonly logger: Logger,
  ) {
    this.#reservation = new Reservation(inflight);
  }

  get hasEnded(): boolean {
    return this.#reservation.hasEnded;
  }

  take(bytes: number): void {
    if (this.#reservation.bytes + bytes > this.maxBytes) {
      throw new VectordError('TOO_LARGE', `the call sends more than ${this.maxBytes} bytes`);
    }
    this.#reservation.take(bytes);
  }

  /** Gives back what the call took. */
  end(): void {
    this.#reservation.end();
  }

  /** Names the call in a status that tells of a failure, and puts the blame where it belongs. */
  answer(answer: CallStatus): CallStatus {
    if (answer.code === status.OK) return answer;
    const details = answer.details ?? '';
    const isClientFault =
      answer.code === status.INTERNAL && CLIENT_FAULTS.some((start) => details.startsWith(start));
    const code = isClientFault ? status.INVALID_ARGUMENT : (answer.code ?? status.INTERNAL);
    const metadata = answer.metadata ?? new Metadata();
    if (metadata.get(REQUEST_ID).length === 0) metadata.set(REQUEST_ID, randomUUID());
    const [requestId] = metadata.get(REQUEST_ID);
    this.logger.debug({ requestId, method: this.path, status: status[code] }, 'grpc call refused');
    return { code, details, metadata };
  }
}
