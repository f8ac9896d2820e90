import type { Series } from './history.js';

/** Maps a range of values to a range of pixels. */
export function linear(
  [from, to]: readonly [number, number],
  [start, end]: readonly [number, number],
): (value: number) => number {
  const factor = from === to ? 0 : (end - start) / (to - from);
  return (value) => start + (value - from) * factor;
}

/**
 * Round values from 0 on that go at least as far as `most`, about as many as `count`: multiples of 1,
 * 2 or 5 and a power of `base`, which is 1,024 for bytes.
 */
export function ticks(most: number, count: number, base: 10 | 1024 = 10): number[] {
  if (!(most > 0)) return [0, 1];
  const step = roundStep(most / count, base);
  const steps = Math.max(1, Math.ceil(most / step - 1e-9));
  return Array.from({ length: steps + 1 }, (_, at) => at * step);
}

function roundStep(least: number, base: 10 | 1024): number {
  const unit = base === 10 ? 1 : 1024 ** Math.floor(Math.max(0, Math.log(least) / Math.log(1024)));
  const power = 10 ** Math.floor(Math.log10(least / unit));
  const factor = [1, 2, 5, 10].find((one) => one * power * unit >= least * (1 - 1e-9)) ?? 10;
  return factor * power * unit;
}

/** The lines of a series as an SVG path, with a gap where a value is missing. */
export function linePath(
  times: readonly number[],
  values: Series,
  x: (time: number) => number,
  y: (value: number) => number,
): string {
  let path = '';
  let isDrawing = false;
  for (const [at, time] of times.entries()) {
    const value = values[at];
    if (value !== undefined) path += `${isDrawing ? 'L' : 'M'}${px(x(time))} ${px(y(value))}`;
    isDrawing = value !== undefined;
  }
  return path;
}

function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}
