import type { Writable } from 'node:stream';
import { REAL_CLOCK, type Clock } from '../core/clock.js';
import { formatBytes } from './bytes.js';

/** What takes no longer than this is done without a word, and one line follows the other so. */
const LINE_EVERY_MS = 2_000;

/** Lines now and then that say how far some work is. */
export class Progress {
  #nextLineAtMs: number;

  constructor(
    private readonly done: string,
    private readonly output: Pick<Writable, 'write'>,
    private readonly clock: Clock = REAL_CLOCK,
  ) {
    this.#nextLineAtMs = clock.nowMs() + LINE_EVERY_MS;
  }

  at(doneBytes: number, totalBytes: number): void {
    const nowMs = this.clock.nowMs();
    if (nowMs < this.#nextLineAtMs) return;
    this.#nextLineAtMs = nowMs + LINE_EVERY_MS;
    this.output.write(`${this.done} ${formatBytes(doneBytes)} of ${formatBytes(totalBytes)}\n`);
  }
}
