/** Milliseconds in each unit of `grpc-timeout`. */
const UNITS: ReadonlyMap<string, number> = new Map([
  ['H', 3_600_000],
  ['M', 60_000],
  ['S', 1_000],
  ['m', 1],
  ['u', 1e-3],
  ['n', 1e-6],
]);

const TIMEOUT = /^(\d{1,8})([HMSmun])$/;

/** The longest that a timer of Node.js waits. A longer deadline, of 24 days and more, is none. */
const LONGEST_MS = 2 ** 31 - 1;

/** Milliseconds of a `grpc-timeout` header, at least 1; nothing if it is not well-formed. */
export function readTimeout(text: string): number | undefined {
  const [, digits = '', unit = ''] = TIMEOUT.exec(text) ?? [];
  const unitMs = UNITS.get(unit);
  return unitMs === undefined ? undefined : Math.max(1, Math.ceil(Number(digits) * unitMs));
}

/** Calls back at a deadline; returns what cancels that. */
export function startDeadline(ms: number, onPassed: () => void): () => void {
  if (ms > LONGEST_MS) return () => undefined;
  const timer = setTimeout(onPassed, ms);
  return () => clearTimeout(timer);
}
