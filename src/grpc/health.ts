import type { ServiceImplementation } from 'nice-grpc';
import { ServerError, Status, type CallContext } from 'nice-grpc-common';
import type { Clock } from '../core/clock.js';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  type HealthCheckRequest,
  type HealthCheckResponse,
  type HealthDefinition,
} from '../gen/grpc/health/v1/health.js';
import { VectorDBDefinition } from '../gen/vectordb/vectordb.js';
import type { Service } from '../core/service.js';

/** How late, at most, a watching client hears of a fault. */
export const WATCH_INTERVAL_MS = 1_000;

/** Empty is the server as a whole. */
const SERVICES: ReadonlySet<string> = new Set(['', VectorDBDefinition.fullName]);

/**
 * The grpc.health.v1 service: serving until the server closes, the store takes no more writes or
 * damage is found in it.
 */
export class Health implements ServiceImplementation<typeof HealthDefinition> {
  readonly #closing = new AbortController();

  constructor(
    private readonly service: Pick<Service, 'faults'>,
    private readonly clock: Clock,
  ) {}

  /** Tells those who watch, and ends their calls. */
  close(): void {
    this.#closing.abort();
  }

  async check({ service }: HealthCheckRequest): Promise<HealthCheckResponse> {
    if (!SERVICES.has(service)) throw new ServerError(Status.NOT_FOUND, 'Service not found');
    return { status: this.#status() };
  }

  async *watch(
    { service }: HealthCheckRequest,
    { signal }: CallContext,
  ): AsyncGenerator<HealthCheckResponse> {
    let lookAgain: (() => void) | undefined;
    const look = (): void => lookAgain?.();
    // Not AbortSignal.any: a signal that lives on keeps each that was made of it.
    const sources = [signal, this.#closing.signal];
    for (const source of sources) source.addEventListener('abort', look);
    const stopChecking = this.clock.every(WATCH_INTERVAL_MS, look);
    try {
      let told: ServingStatus | undefined;
      while (!signal.aborted) {
        const isLast = this.#closing.signal.aborted;
        const status = SERVICES.has(service) ? this.#status() : ServingStatus.SERVICE_UNKNOWN;
        if (status !== told) yield { status };
        told = status;
        if (isLast) return;
        if (sources.some(({ aborted }) => aborted)) continue;
        // oxlint-disable-next-line no-await-in-loop -- the wait is what the loop is for
        await new Promise<void>((resolve) => (lookAgain = resolve));
      }
    } finally {
      stopChecking();
      for (const source of sources) source.removeEventListener('abort', look);
    }
  }

  #status(): ServingStatus {
    const isServing = !this.#closing.signal.aborted && this.service.faults().length === 0;
    return isServing ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }
}
