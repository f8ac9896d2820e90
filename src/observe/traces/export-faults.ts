import type { Clock } from '../../core/clock.js';
import type { Logger } from '../logger.js';

/** While no collector answers there is a fault every few seconds. */
const LINE_EVERY_MS = 60_000;

/** Tells the log that spans are lost, once a minute at most. */
export class ExportFaults {
  #toldAtMs = -Infinity;
  #faults = 0;

  constructor(
    private readonly logger: Logger,
    private readonly clock: Clock,
  ) {}

  note(reason: string): void {
    this.#faults += 1;
    const nowMs = this.clock.nowMs();
    if (nowMs - this.#toldAtMs < LINE_EVERY_MS) return;
    this.#toldAtMs = nowMs;
    const faults = this.#faults;
    this.#faults = 0;
    this.logger.warn({ reason, faults }, 'spans are lost: they cannot be exported');
  }
}
