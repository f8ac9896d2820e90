import { closeSync, openSync, writeSync } from 'node:fs';
import {
  KINDS,
  type Answer,
  type Asked,
  type Kind,
  type Operation,
  type Outcome,
} from './operation.js';
import { outcomeOf } from './outcome.js';

export type Counts = Readonly<Record<Kind, Record<Outcome, number>>>;

/** Writes a history: a line for each operation, in the order of their ends. */
export class Recorder {
  readonly counts = Object.fromEntries(
    KINDS.map((kind) => [kind, { ok: 0, failed: 0, unknown: 0 }]),
  ) as Counts;
  readonly #file: number;
  readonly #beganAt = process.hrtime.bigint();

  constructor(readonly path: string) {
    this.#file = openSync(path, 'wx');
  }

  async record(asked: Asked, call: () => Promise<Answer>): Promise<Outcome> {
    const start = this.#now();
    const known = await call().then(
      (answer) => ({ outcome: 'ok' as const, answer }),
      (error: unknown) => outcomeOf(error),
    );
    const { outcome } = known;
    const end = outcome === 'unknown' ? {} : { end: this.#now() };
    const operation: Operation = { ...asked, ...known, start, ...end };
    writeSync(this.#file, `${JSON.stringify(operation)}\n`);
    this.counts[asked.kind][outcome] += 1;
    return outcome;
  }

  close(): void {
    closeSync(this.#file);
  }

  /** In ns since the beginning of the history. */
  #now(): number {
    return Number(process.hrtime.bigint() - this.#beganAt);
  }
}
