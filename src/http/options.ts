import type { Clock } from '../core/clock.js';
import type { Decoder } from '../wire/decoder.js';
import type { MemoryBudget } from '../admission/memory-budget.js';
import type { Keys } from '../auth/keys.js';
import type { Logger } from '../observe/logger.js';
import type { Metrics, ObservedInterface } from '../observe/metrics.js';
import type { RequestScheduler } from '../admission/request-scheduler.js';
import type { Service } from '../core/service.js';
import type { Strangers } from '../admission/strangers.js';

/** What the HTTP interface is made of. */
export interface HttpOptions extends ObservedInterface {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Connections at one time; others are closed at once, unless one gives way. */
  readonly maxConnections: number;
  readonly strangers: Strangers;
  readonly service: Service;
  readonly decoder: Decoder;
  readonly keys: Keys;
  readonly pace: RequestScheduler;
  readonly inflight: MemoryBudget;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Whether metrics are for everyone, not only for those with a key. */
  readonly metricsOpen: boolean;
}
