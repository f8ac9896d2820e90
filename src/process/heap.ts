// oxlint-disable-next-line no-restricted-imports -- without the flag V8 only collects more often
import { setFlagsFromString } from 'node:v8';

/** How much the heap may grow before it is collected as a whole, in percent of what lives in it. */
const GROWTH_PERCENT = 300;

/**
 * Has V8 collect the whole heap less often. What large requests leave behind would have it do so
 * for each of them, and searches wait 20 to 40 ms meanwhile; the heap of this process is small.
 */
export function collectRarely(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}
