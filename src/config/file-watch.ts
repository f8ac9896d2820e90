import type { BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { REAL_CLOCK, type Clock } from '../core/clock.js';

/** Two checks at this distance have to agree before a change is taken over. */
export const CHECK_INTERVAL_MS = 250;

/** Files that are read again when they change, all of them at once. */
export interface WatchedFiles {
  readonly paths: readonly string[];
  /** The versions that are in force; see `versionOf`. */
  readonly version: string;
  /**
   * Resolves once what they hold is in force everywhere; rejects, and keeps what was, if that is not
   * right.
   */
  reload(): Promise<void>;
  onReloaded(): void;
  onRefused(error: unknown): void;
}

/** Differs between two versions of a file, be it written to or replaced by another. */
export function fingerprint({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':');
}

/** The version of several files, of the fingerprint of each. */
export function versionOf(fingerprints: readonly string[]): string {
  return fingerprints.join(' ');
}

/**
 * Keeps what was read what its files say. It looks at the files instead of subscribing to events,
 * which sees every way of changing them: written in place, renamed over, a link turned to another
 * target, on any file system. Files that are still being written, or replaced one after the other,
 * differ from check to check.
 */
export class FileWatch {
  readonly #stopChecking: () => void;
  #isChecking = false;
  #seenVersion: string;
  /** The version that was last taken over or refused: neither is done twice. */
  #handledVersion: string;

  constructor(
    private readonly files: WatchedFiles,
    clock: Clock = REAL_CLOCK,
  ) {
    this.#seenVersion = files.version;
    this.#handledVersion = files.version;
    this.#stopChecking = clock.every(CHECK_INTERVAL_MS, async () => await this.#check());
  }

  /** Reads the files now; bad ones are reported and change nothing. */
  async reload(): Promise<void> {
    const { files } = this;
    try {
      await files.reload();
    } catch (error) {
      files.onRefused(error);
      return;
    }
    this.#handledVersion = files.version;
    files.onReloaded();
  }

  close(): void {
    this.#stopChecking();
  }

  /** One check at a time: a file system that does not answer would keep a thread for each. */
  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    const fingerprints = this.files.paths.map(async (path) =>
      stat(path, { bigint: true }).then(fingerprint, () => 'missing'),
    );
    const version = versionOf(await Promise.all(fingerprints));
    this.#isChecking = false;
    const settled = version === this.#seenVersion;
    this.#seenVersion = version;
    if (!settled || version === this.#handledVersion) return;
    this.#handledVersion = version;
    await this.reload();
  }
}
