import type { Clock } from '../core/clock.js';

/** How often a request that is not all there is looked at. */
export const CHECK_MS = 10_000;
/**
 * So much has to have come in between: what has come already takes of the budget of all, and who
 * sends nothing more would keep it from them. A line is hardly ever slower.
 */
export const LEAST_BYTES_PER_CHECK = 64 * 1024;

/** Calls `fail` when less has come between two checks; answers a function that ends the checks. */
export function failWhenSlow(
  receivedBytes: () => number,
  fail: () => void,
  clock: Clock,
): () => void {
  let bytesAtCheck = receivedBytes();
  return clock.every(CHECK_MS, () => {
    const bytes = receivedBytes();
    if (bytes - bytesAtCheck < LEAST_BYTES_PER_CHECK) fail();
    bytesAtCheck = bytes;
  });
}
