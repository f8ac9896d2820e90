import type { Writable } from 'node:stream';
import { REAL_CLOCK, type Clock } from '../../core/clock.js';
import { formatCount } from '../count.js';

/** On a terminal; a line that is redrawn more often only costs. */
const REDRAW_EVERY_MS = 100;

/** Where nobody watches, as in a log. */
const LINE_EVERY_MS = 5_000;

const CELLS = 24;

/** Goes to the start of the line and clears it. */
export const ERASE = '\r\u001B[K';

export interface BarOutput extends Pick<Writable, 'write'> {
  readonly isTTY?: boolean;
}

/** How far some work is: a bar on a terminal, else a line now and then. */
export class Bar {
  readonly #startedAtMs: number;
  #nextAtMs: number;
  #first: number | undefined;
  #firstShare: number | undefined;
  #isDrawn = false;

  /** `unit` is what is counted, as in "rows"; `label` stands before it all. */
  constructor(
    private readonly unit: string,
    private readonly label = '',
    private readonly output: BarOutput = process.stderr,
    private readonly clock: Clock = REAL_CLOCK,
  ) {
    this.#startedAtMs = clock.nowMs();
    this.#nextAtMs = this.#startedAtMs + this.#everyMs;
  }

  /** `share` is that of all the work, from 0 to 1, if it is known. */
  at(done: number, share?: number): void {
    const nowMs = this.clock.nowMs();
    this.#first ??= done;
    this.#firstShare ??= share;
    if (nowMs < this.#nextAtMs) return;
    this.#nextAtMs = nowMs + this.#everyMs;
    const text = this.label + this.#describe(done, share, (nowMs - this.#startedAtMs) / 1000);
    this.#isDrawn = this.output.isTTY === true;
    this.output.write(this.#isDrawn ? `${ERASE}${text}` : `${text}\n`);
  }

  /** Clears the bar, so that what follows has the line. */
  clear(): void {
    if (this.#isDrawn) this.output.write(ERASE);
    this.#isDrawn = false;
  }

  get #everyMs(): number {
    return this.output.isTTY === true ? REDRAW_EVERY_MS : LINE_EVERY_MS;
  }

  #describe(done: number, share: number | undefined, seconds: number): string {
    const rate = Math.round((done - (this.#first ?? 0)) / Math.max(seconds, 0.001));
    const counts = `${formatCount(done)} ${this.unit}, ${formatCount(rate)}/s`;
    if (share === undefined) return counts;
    const full = Math.round(share * CELLS);
    const bar = `[${'#'.repeat(full)}${'.'.repeat(CELLS - full)}]`;
    const gained = share - (this.#firstShare ?? 0);
    const left = gained > 0 ? `, ${formatTime((seconds * (1 - share)) / gained)} left` : '';
    return `${bar} ${Math.floor(share * 100)}% ${counts}${left}`;
  }
}

/** A time in its two greatest units. */
export function formatTime(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  if (hours > 0) return `${formatCount(hours)}h ${minutes}m`;
  return minutes > 0 ? `${minutes}m ${whole % 60}s` : `${whole}s`;
}
