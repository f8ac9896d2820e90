import type { Writable } from 'node:stream';
import { formatBytes } from './bytes.js';

/** What takes no longer than this is done without a word, and one line follows the other so. */
const LINE_EVERY_MS = 2_000;

/** Lines now and then that say how far some work is. */
export class Progress {
  #nextLineAtMs: number;

  constructor(
    private readonly done: string,
    private readonly output: Pick<Writable, 'write'>,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.#nextLineAtMs = nowMs() + LINE_EVERY_MS;
  }

  at(doneBytes: number, totalBytes: number): void {
    if (this.nowMs() < this.#nextLineAtMs) return;
    this.#nextLineAtMs = this.nowMs() + LINE_EVERY_MS;
    this.output.write(`${this.done} ${formatBytes(doneBytes)} of ${formatBytes(totalBytes)}\n`);
  }
}
