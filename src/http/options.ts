import type { Clock } from '../core/clock.js';
import type { Decoder } from '../wire/decoder.js';
import type { Admission } from '../admission/connection-limit.js';
import type { MemoryBudget } from '../admission/memory-budget.js';
import type { Keys } from '../auth/keys.js';
import type { Logger } from '../observe/logger.js';
import type { Info } from '../observe/info.js';
import type { Requests } from '../observe/requests.js';
import type { PointsService } from '../core/points-service.js';
import type { Service } from '../core/service.js';

/** What the HTTP interface of one loop is made of. */
export interface HttpOptions {
  readonly admission: Admission;
  readonly requests: Requests;
  readonly service: Service;
  readonly points: PointsService;
  readonly info: () => Promise<Info>;
  readonly decoder: Decoder;
  readonly keys: Keys;
  readonly inflight: MemoryBudget;
  readonly logger: Logger;
  readonly clock: Clock;
  /** All metrics of the service, as text. */
  readonly metrics: () => Promise<string>;
  /** Hears of an answer to what is no HTTP/1.1. */
  readonly onMalformed: (status: number) => void;
  /** Whether metrics are for everyone, not only for those with a key. */
  readonly metricsOpen: boolean;
  /** Whether the console is there. */
  readonly hasConsole: boolean;
  /** Whose pages may use it from a browser. */
  readonly corsOrigins: readonly string[];
}
