import { stat } from 'node:fs/promises';
import { REAL_CLOCK, type Clock } from '../core/clock.js';
import { fingerprint } from './keys-file.js';
import type { Keys } from './keys.js';
import type { Logger } from '../observe/logger.js';
import { messageOf } from '../core/start-error.js';

/** Two looks at this distance have to agree before a change is taken over. */
export const LOOK_INTERVAL_MS = 250;

/**
 * Keeps the keys what their file says. It looks at the file instead of subscribing to events,
 * which sees every way of changing it: written in place, renamed over, a link turned to another
 * target, on any file system. A file that is still being written differs from look to look.
 */
export class KeysWatch {
  readonly #keys: Keys;
  readonly #logger: Logger;
  readonly #endLooking: () => void;
  #isLooking = false;
  #seenVersion: string;
  /** The version that was last taken over or refused: neither is done twice. */
  #handledVersion: string;

  constructor(keys: Keys, logger: Logger, clock: Clock = REAL_CLOCK) {
    this.#keys = keys;
    this.#logger = logger;
    this.#seenVersion = keys.version;
    this.#handledVersion = keys.version;
    this.#endLooking = clock.every(LOOK_INTERVAL_MS, async () => await this.#look());
  }

  /** Reads the file now; a bad one is reported and changes nothing. */
  reload(): void {
    const { path } = this.#keys;
    try {
      this.#keys.reload();
      this.#handledVersion = this.#keys.version;
      this.#logger.info({ path, keys: this.#keys.count }, 'keys file read again');
      for (const warning of this.#keys.warnings) this.#logger.warn(warning);
    } catch (error) {
      this.#logger.error(
        { path, reason: messageOf(error) },
        'keys file refused: the keys that were read before stay in force',
      );
    }
  }

  close(): void {
    this.#endLooking();
  }

  /** One look at a time: a file system that does not answer would keep a thread for each. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const version = await stat(this.#keys.path, { bigint: true }).then(
      fingerprint,
      () => 'missing',
    );
    this.#isLooking = false;
    const settled = version === this.#seenVersion;
    this.#seenVersion = version;
    if (!settled || version === this.#handledVersion) return;
    this.#handledVersion = version;
    this.reload();
  }
}
