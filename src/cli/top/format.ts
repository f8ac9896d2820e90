import { formatCount } from '../count.js';

/** How often something happens: small numbers with one decimal. */
export function formatRate(perSecond: number): string {
  return perSecond === 0 || perSecond >= 100 ? formatCount(perSecond) : perSecond.toFixed(1);
}

/** A duration of a request, of which there may be none. */
export function formatLatency(seconds: number | undefined): string {
  if (seconds === undefined) return '-';
  const ms = seconds * 1000;
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 100) return `${ms.toFixed(1)} ms`;
  return ms < 1000 ? `${ms.toFixed(0)} ms` : `${seconds.toFixed(1)} s`;
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** A time in its two greatest units, such as "3 h 12 min". */
export function formatDuration(seconds: number): string {
  let rest = Math.max(0, Math.floor(seconds));
  const parts = UNITS.map(([unit, unitSeconds]) => {
    const count = Math.floor(rest / unitSeconds);
    rest -= count * unitSeconds;
    return { count, text: `${count} ${unit}` };
  });
  const first = parts.findIndex(({ count }) => count > 0);
  if (first === -1) return '0 s';
  const shown = parts.slice(first, first + 2);
  return shown.map(({ text }) => text).join(' ');
}
