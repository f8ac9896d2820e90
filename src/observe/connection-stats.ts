import { REAL_CLOCK, type Clock } from '../core/clock.js';
import type { Logger } from './logger.js';
import { LogRateLimit } from './log-rate-limit.js';

/**
 * Why the service closed a connection: it was one too many, or gave way to another; its TLS handshake
 * failed; no answer to a ping came on it; its client does not speak the protocol, reset too many
 * calls, sent messages in too small chunks, or too much that is neither call nor message, sent too
 * many requests without waiting for answers, or sent nothing or did not read its answer in time.
 */
export type CloseReason =
  | 'accept_timeout'
  | 'evicted'
  | 'handshake'
  | 'unanswered_ping'
  | 'protocol'
  | 'resets'
  | 'tiny_chunks'
  | 'idle_frames'
  | 'pipelining'
  | 'timeout';

/** The connections of one interface: how many there are, and why the service closed others. */
export class ConnectionStats {
  open = 0;
  readonly closed = new Map<CloseReason, number>();
  readonly #lines: LogRateLimit;

  constructor(
    readonly protocol: 'http' | 'grpc',
    private readonly logger: Logger,
    clock: Clock = REAL_CLOCK,
  ) {
    this.#lines = new LogRateLimit(clock);
  }

  /** Notes that the service closes a connection from this address. */
  noteClosed(reason: CloseReason, address: string | undefined): void {
    this.closed.set(reason, (this.closed.get(reason) ?? 0) + 1);
    const leftOut = this.#lines.next();
    if (leftOut === undefined) return;
    const { logger, protocol } = this;
    logger.warn({ interface: protocol, reason, address, ...leftOut }, 'connection closed');
  }
}
