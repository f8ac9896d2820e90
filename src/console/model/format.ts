const MISSING = '–';

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const significant = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });

type Value = number | undefined;

export function formatCount(value: Value): string {
  return value === undefined ? MISSING : whole.format(value);
}

/** So many of something, whose name in the plural has one more s. */
export function formatCounted(count: number, unit: string): string {
  return `${formatCount(count)} ${unit}${count === 1 ? '' : 's'}`;
}

/** A measured number, to three digits. */
export function formatNumber(value: Value): string {
  if (value === undefined) return MISSING;
  return value >= 1000 ? whole.format(value) : significant.format(value);
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function formatBytes(value: Value): string {
  if (value === undefined) return MISSING;
  const power = value < 1024 ? 0 : Math.floor(Math.log(value) / Math.log(1024));
  return `${significant.format(value / 1024 ** power)} ${BYTE_UNITS[power] ?? ''}`;
}

export function formatLatency(seconds: Value): string {
  if (seconds === undefined) return MISSING;
  return seconds < 1 ? `${formatNumber(seconds * 1000)} ms` : `${formatNumber(seconds)} s`;
}

const TIME_UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** A stretch of time in its two greatest units, such as `3 h 12 min`. */
export function formatDuration(seconds: number): string {
  const first = TIME_UNITS.findIndex(([, length]) => seconds >= length);
  const at = first === -1 ? TIME_UNITS.length - 1 : first;
  const [name, length] = TIME_UNITS[at] ?? ['s', 1];
  const [smaller, smallerLength] = TIME_UNITS[at + 1] ?? ['', 0];
  const big = `${Math.floor(seconds / length)} ${name}`;
  const rest = smallerLength === 0 ? 0 : Math.floor((seconds % length) / smallerLength);
  return rest === 0 ? big : `${big} ${rest} ${smaller}`;
}

/** A distance in full precision where it is near 0, else to six digits. */
export function formatDistance(value: number | undefined): string {
  if (value === undefined) return MISSING;
  return String(Number(value.toPrecision(6)));
}
