import type { IncomingHttpHeaders } from 'node:http';
import { REAL_CLOCK, type Clock } from '../core/clock.js';
import { VectordError } from '../core/errors.js';
import type { Logger } from './logger.js';
import { Histogram } from './histogram.js';
import { LogRateLimit } from './log-rate-limit.js';
import { parametersOf } from './request-parameters.js';
import type { RequestTrace, Tracing } from './tracing.js';

/** From a get of a point, which takes a tenth of a millisecond, to a batch that takes minutes. */
const DURATION_BOUNDS_S: readonly number[] = [
  0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
  10, 30, 100,
];

/** What tells one kind of request from the others, in the log and in the metrics. */
export interface OperationLabels {
  readonly method: string;
  /** The pattern of an HTTP route; gRPC has methods alone. */
  readonly route?: string;
}

/** One kind of request. There are few of them, whatever clients send: each is a line for good. */
export class Operation {
  /** How often each status was answered. */
  readonly statuses = new Map<number, number>();
  readonly durations = new Histogram(DURATION_BOUNDS_S);

  constructor(
    readonly labels: OperationLabels,
    /** Whether it may take as long as its client likes, as a watch does. */
    readonly isEndless: boolean,
  ) {}
}

/** What a request tells of itself at its end. Only what is logged is asked for more than this. */
export interface EndedRequest {
  readonly operation: Operation;
  readonly startedAtMs: number;
  /** Names it in its answer and in the log. */
  readonly requestId: string;
  /** What it asked for, as far as that has been read. */
  readonly asked: unknown;
  /** Its size, as far as it has arrived, after decompression. */
  readonly bytes: number;
  /** Why it failed, if it did; no client sees this. */
  readonly failure: unknown;
  /** Undefined where the request is not sampled, or traces are off. */
  readonly trace?: RequestTrace | undefined;
}

export interface RequestsOptions {
  readonly protocol: 'http' | 'grpc';
  readonly logger: Logger;
  /** A request that takes longer is logged; 0 is none. */
  readonly slowRequestMs: number;
  /** How a status is called. */
  readonly nameOf: (status: number) => string | number;
  readonly clock?: Clock;
  /** Undefined where traces are off. */
  readonly tracing?: Tracing | undefined;
}

/**
 * The requests of one interface: how many are under way, and for each kind how they ended. Every
 * request, on whichever interface, begins and ends here: this is also where it is logged.
 */
export class Requests {
  readonly operations: Operation[] = [];
  readonly #options: RequestsOptions;
  readonly #clock: Clock;
  /** The level of a log never changes: nobody asks for it again with each request. */
  readonly #isEachLogged: boolean;
  #underWay = 0;
  /**
   * Requests that met an overload or a full disk, those that met a defect or damage, and slow ones:
   * clients can make many of each.
   */
  readonly #foreseen: LogRateLimit;
  readonly #defects: LogRateLimit;
  readonly #slow: LogRateLimit;

  constructor(options: RequestsOptions) {
    this.#options = options;
    const clock = options.clock ?? REAL_CLOCK;
    this.#clock = clock;
    this.#foreseen = new LogRateLimit(clock);
    this.#defects = new LogRateLimit(clock);
    this.#slow = new LogRateLimit(clock);
    this.#isEachLogged = options.logger.isLevelEnabled('debug');
  }

  get protocol(): 'http' | 'grpc' {
    return this.#options.protocol;
  }

  get underWay(): number {
    return this.#underWay;
  }

  nameOf(status: number): string {
    return String(this.#options.nameOf(status));
  }

  /** Makes another kind of request known. */
  addOperation(labels: OperationLabels, isEndless = false): Operation {
    const operation = new Operation(labels, isEndless);
    this.operations.push(operation);
    return operation;
  }

  /** Notes that a request has arrived, maybe some time ago; answers when. */
  begin(arrivedAtMs = this.#clock.nowMs()): number {
    this.#underWay += 1;
    return arrivedAtMs;
  }

  /** The trace of a request that has just begun, if it is sampled and traces are on. */
  beginTrace(headers: IncomingHttpHeaders, path = ''): RequestTrace | undefined {
    return this.#options.tracing?.begin(this.protocol, headers, path);
  }

  /** Notes how a request ended; `isFault` says whether the service is to blame. */
  end(request: EndedRequest, status: number, isFault: boolean): void {
    const { operation, startedAtMs } = request;
    const durationMs = this.#clock.nowMs() - startedAtMs;
    this.#underWay -= 1;
    operation.statuses.set(status, (operation.statuses.get(status) ?? 0) + 1);
    operation.durations.add(durationMs / 1000);
    if (request.trace !== undefined) this.#endTrace(request, request.trace, status);

    const { slowRequestMs } = this.#options;
    const isSlow = slowRequestMs > 0 && durationMs > slowRequestMs && !operation.isEndless;
    if (isFault || isSlow) this.#warn(request, status, durationMs, isFault);
    else if (this.#isEachLogged) {
      this.#options.logger.debug(this.#line(request, status, durationMs), 'request');
    }
  }

  #endTrace({ operation, asked, bytes }: EndedRequest, trace: RequestTrace, status: number): void {
    const parameters = parametersOf(asked);
    trace.end({ ...operation.labels, status: this.nameOf(status), parameters, bytes });
  }

  #warn(request: EndedRequest, status: number, durationMs: number, isFault: boolean): void {
    const { failure } = request;
    const { logger } = this.#options;
    const line = () => ({
      ...this.#line(request, status, durationMs),
      bytes: request.bytes,
      ...parametersOf(request.asked),
    });
    if (!isFault) {
      const leftOut = this.#slow.next();
      if (leftOut !== undefined) logger.warn({ ...line(), ...leftOut }, 'slow request');
    } else if (isForeseen(failure)) {
      // Where it came from tells nothing.
      const leftOut = this.#foreseen.next();
      if (leftOut !== undefined) {
        logger.warn({ ...line(), reason: failure.message, ...leftOut }, 'request failed');
      }
    } else {
      const leftOut = this.#defects.next();
      if (leftOut !== undefined) {
        logger.error({ ...line(), err: failure, ...leftOut }, 'request failed');
      }
    }
  }

  #line({ requestId, operation, trace }: EndedRequest, status: number, durationMs: number) {
    const { protocol, nameOf } = this.#options;
    return {
      requestId,
      ...(trace === undefined ? {} : { traceId: trace.traceId }),
      interface: protocol,
      ...operation.labels,
      status: nameOf(status),
      durationMs: Math.round(durationMs * 1000) / 1000,
    };
  }
}

/** Whether a fault is one that comes with load or with a full disk, and not a defect or damage. */
function isForeseen(failure: unknown): failure is VectordError {
  return failure instanceof VectordError && failure.code !== 'INTERNAL';
}
