import { constants } from 'node:os';
import { EXIT_SIGNAL } from '../../core/start-error.js';
import { ERASE } from './bar.js';

/** What has begun may take so long to end by itself. */
const GRACE_MS = 10_000;

const SAID =
  `stopping: what is under way has ${GRACE_MS / 1000} seconds for its answer, and a second signal ` +
  'ends it at once';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Hears the signals by which a command is ended: the first one asks it to stop, which it says, and
 * makes it after some seconds, and the second one ends the process at once.
 */
export class Interruption {
  readonly #stopping = new AbortController();
  #exitCode: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `giveUp` fails whatever is still under way. */
  constructor(private readonly giveUp: () => void) {
    for (const signal of SIGNALS) process.on(signal, this.#hear);
  }

  /** Aborted by the first signal. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** What the command ends with, if there was a signal. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const signal of SIGNALS) process.off(signal, this.#hear);
  }

  readonly #hear = (signal: NodeJS.Signals): void => {
    const exitCode = EXIT_SIGNAL + constants.signals[signal];
    if (this.#exitCode !== undefined) process.exit(exitCode);
    this.#exitCode = exitCode;
    this.#timer = setTimeout(this.giveUp, GRACE_MS);
    process.stderr.write(`${process.stderr.isTTY ? ERASE : ''}${SAID}\n`);
    this.#stopping.abort();
  };
}
