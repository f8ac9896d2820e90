import { percentile, spread } from '../writes/spread.mjs';

/** A median that is greater by less is not slower, whatever the noise. */
const MARGIN = 1.03;

/**
 * Whether the last of three is slower than the first, of which the second is a twin: whether the
 * median of the ratios is above the margin, and above what nine in ten ratios of the twins are not.
 * @param {[number[], number[], number[]]} values in the order of the turns
 */
export function judge([older, again, newer]) {
  const over = (values) => values.map((value, turn) => value / older[turn]);
  const noise = percentile(over(again), 90);
  const most = Math.max(MARGIN, noise);
  const found = spread(over(newer), 3);
  return { found, target: `at most ${most.toFixed(3)}`, met: found.median <= most };
}
