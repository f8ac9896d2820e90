import type { Clock } from '../core/clock.js';
import type { Decoder } from '../wire/decoder.js';
import type { Handshakes } from '../admission/handshakes.js';
import type { IsTrusted } from '../admission/trusted-proxies.js';
import type { MemoryBudget } from '../admission/memory-budget.js';
import type { Keys } from '../auth/keys.js';
import type { Logger } from '../observe/logger.js';
import type { Metrics, ObservedInterface } from '../observe/metrics.js';
import type { Service } from '../core/service.js';

export interface ListenOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
}

/** What the HTTP interface is made of. */
export interface HttpOptions extends ObservedInterface {
  /** Connections at one time; others are closed at once, unless one is evicted. */
  readonly maxConnections: number;
  readonly service: Service;
  readonly decoder: Decoder;
  readonly keys: Keys;
  readonly inflight: MemoryBudget;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Those of TLS, where it is on. */
  readonly handshakes: Handshakes | undefined;
  /** Whether a connection may carry many clients. */
  readonly isTrusted: IsTrusted;
  readonly metrics: Metrics;
  /** Whether metrics are for everyone, not only for those with a key. */
  readonly metricsOpen: boolean;
  /** Whose pages may use it from a browser. */
  readonly corsOrigins: readonly string[];
}
