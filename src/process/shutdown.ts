import { constants } from 'node:os';
import { EXIT_SIGNAL } from '../core/start-error.js';
import { exitNow } from '../engine/exit.js';
import type { Logger } from '../observe/logger.js';
import { isUnderNpm } from './npm.js';

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
          exitNow(EXIT_SIGNAL + constants.signals[signal]);
        }
      });
    }
  });
}

/**
 * A defect of our own leaves the process in a state that nobody knows: it is logged, and the
 * process ends. What was acknowledged is on disk, so nothing is lost. Each thread calls it for itself.
 */
export function exitOnDefect(logger: Logger): void {
  const end = (error: unknown) => {
    logger.fatal({ err: error }, 'defect: the service stops');
    exitNow(1);
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
}
