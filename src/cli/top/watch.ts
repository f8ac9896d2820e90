import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT_OK, StartError } from '../../core/start-error.js';
import { visible } from '../../core/visible.js';
import { blockOf } from './block.js';
import { Lines, Screen, type Display } from './screen.js';
import type { Look, WatchedService } from './service.js';

/** Prints what a service does in one interval. */
export async function watchOnce(service: WatchedService, intervalMs: number): Promise<void> {
  const before = await service.look();
  await sleep(intervalMs);
  new Lines().show(blockOf(service.url, before, await service.look()));
}

/**
 * Shows what a service does until a signal ends the process. Where it cannot be looked at at first,
 * this fails; later it is tried again.
 */
export async function watch(service: WatchedService, intervalMs: number): Promise<never> {
  let before = await service.look();
  const display = process.stdout.isTTY ? new Screen(process.stdout) : new Lines();
  process.on('SIGINT', end).on('SIGTERM', end);
  // As after `vectord top | head -20`: nobody reads on.
  process.stdout.on('error', end);
  try {
    display.note(`looking at ${service.url}; Ctrl-C ends this`);
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- the wait is what the loop is for
      await sleep(intervalMs);
      // oxlint-disable-next-line no-await-in-loop -- one look comes after the other
      before = await showNext(service, before, display);
    }
  } finally {
    display.close();
  }
}

/** Shows what has happened since a look; answers the look that the next one is compared with. */
async function showNext(service: WatchedService, before: Look, display: Display): Promise<Look> {
  try {
    const now = await service.look();
    display.show(blockOf(service.url, before, now));
    return now;
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    // What answers may not be vectord.
    display.note(visible(`${error.message}; trying again`));
    return before;
  }
}

function end(): never {
  process.exit(EXIT_OK);
}
