import { constants } from 'node:os';
import type { Logger } from '../observe/logger.js';
import { isUnderNpm } from './npm.js';
import { EXIT_SIGNAL } from '../core/start-error.js';

/** How long requests that are under way have to finish once the service is told to stop. */
export const SHUTDOWN_GRACE_MS = 10_000;

/**
 * One Ctrl-C under `npm start` can arrive twice, from the terminal and from npm: signals this close
 * together are one there.
 */
const SAME_SIGNAL_UNDER_NPM_MS = 500;

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Resolves with the first signal to stop; from then on, a second one ends the process at once. */
export function nextStopSignal(): Promise<NodeJS.Signals> {
  const sameSignalMs = isUnderNpm() ? SAME_SIGNAL_UNDER_NPM_MS : 0;
  return new Promise((resolve) => {
    let firstAtMs: number | undefined;
    for (const signal of STOP_SIGNALS) {
      process.on(signal, () => {
        if (firstAtMs === undefined) {
          firstAtMs = performance.now();
          resolve(signal);
        } else if (performance.now() - firstAtMs >= sameSignalMs) {
          process.exit(EXIT_SIGNAL + constants.signals[signal]);
        }
      });
    }
  });
}

/**
 * A defect of our own leaves the process in a state that nobody knows: it is logged, and the
 * process ends. What was acknowledged is on disk, so nothing is lost.
 */
export function exitOnDefect(logger: Logger): void {
  const exit = (error: unknown) => {
    logger.fatal({ err: error }, 'defect: the service stops');
    process.exit(1);
  };
  process.on('uncaughtException', exit);
  process.on('unhandledRejection', exit);
}

/** Nobody reading the output any more, as after `vectord | head -1`, is no reason to stop. */
export function ignoreClosedOutput(): void {
  onOutputError((error) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/** Nor is, for a service, that its output cannot be written: the log may lie on the disk that is full. */
export function ignoreLostOutput(): void {
  onOutputError(() => {});
}

function onOutputError(listener: (error: NodeJS.ErrnoException) => void): void {
  for (const output of [process.stdout, process.stderr]) {
    output.removeAllListeners('error').on('error', listener);
  }
}
