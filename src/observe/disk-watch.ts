import { REAL_CLOCK, type Clock } from '../core/clock.js';
import { availableBytes, isNearlyFull, LEAST_FREE_BYTES } from './folder-size.js';
import type { Logger } from './logger.js';

export const MEASURE_INTERVAL_MS = 1_000;

/** It has room again, for the log, with so many times the least: what is about full is told once. */
const ROOM = 2;

/** Looks each second whether the disk of a folder is nearly full, and tells the log. */
export class DiskWatch {
  /** Is told what each look has found. */
  onLook: (isFull: boolean) => void = () => undefined;
  #isTold = false;
  readonly #stopMeasuring: () => void;

  /** @param measure answers how many bytes are left on the disk of a folder */
  constructor(
    private readonly path: string,
    private readonly logger: Logger,
    clock: Clock = REAL_CLOCK,
    private readonly measure = availableBytes,
  ) {
    this.#stopMeasuring = clock.every(MEASURE_INTERVAL_MS, async () => await this.look());
  }

  /** Looks now. A system that does not tell has no full disk until a write finds it. */
  async look(): Promise<void> {
    const bytes = await this.measure(this.path).catch(() => undefined);
    if (bytes === undefined) return;
    const isFull = isNearlyFull(bytes);
    this.onLook(isFull);
    const facts = { dataPath: this.path, availableBytes: bytes, expectedBytes: LEAST_FREE_BYTES };
    if (isFull && !this.#isTold) {
      this.#isTold = true;
      this.logger.warn(facts, 'the disk is nearly full: free some space, or inserts are refused');
    } else if (this.#isTold && bytes >= ROOM * LEAST_FREE_BYTES) {
      this.#isTold = false;
      this.logger.info(facts, 'the disk has room again');
    }
  }

  close(): void {
    this.#stopMeasuring();
  }
}
