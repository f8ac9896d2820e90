import { Presets, SingleBar } from 'cli-progress';

/** A line that tells of progress where there is no terminal to draw on comes this often. */
const PLAIN_STEPS = 5;

/** @param {number} count */
export const format = (count) => count.toLocaleString('en');

/** @param {string} [text] */
export function line(text = '') {
  process.stdout.write(`${text}\n`);
}

/**
 * The start of a text, on one line of at most `indent` columns less than the terminal has.
 * @param {string} text
 * @param {number} indent
 */
export function shorten(text, indent) {
  const width = (process.stdout.columns ?? 100) - indent;
  const flat = text.replace(/\s+/g, ' ');
  return flat.length <= width ? flat : `${flat.slice(0, width - 3)}...`;
}

/**
 * Shows how far a piece of work has come: a bar on a terminal, a few plain lines elsewhere.
 * @param {string} label
 * @param {number} total
 */
export function progress(label, total) {
  return process.stdout.isTTY ? drawnProgress(label, total) : plainProgress(label, total);
}

function drawnProgress(label, total) {
  const bar = new SingleBar(
    { format: `${label} [{bar}] {value} of {total}`, hideCursor: true, barsize: 40 },
    Presets.legacy,
  );
  bar.start(total, 0);
  return { update: (done) => bar.update(done), stop: () => bar.stop() };
}

function plainProgress(label, total) {
  let shown = 0;
  return {
    update(done) {
      const step = Math.floor((done / total) * PLAIN_STEPS);
      if (step > shown) line(`${label} ${format(done)} of ${format(total)}`);
      shown = step;
    },
    stop() {},
  };
}
