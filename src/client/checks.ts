import { InvalidArgumentError } from './errors.js';

/** What was found in the place of a field, on one line and of bounded length. */
function describe(value: unknown): string {
  if (typeof value === 'string') {
    return JSON.stringify(value.length > 64 ? `${value.slice(0, 64)}...` : value);
  }
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  const name = classOf(value) || 'nameless object';
  return `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`;
}

function classOf({ constructor }: object): string {
  return typeof constructor === 'function' ? constructor.name : 'Object';
}

/**
 * Whether it is an object of no class, whose members are its own: what a Map or a Date holds is not
 * in its members.
 */
export function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const parent = parentOf(value);
  // Each realm has an Object.prototype of its own.
  return parent === null || (parentOf(parent) === null && Object.hasOwn(parent, 'isPrototypeOf'));
}

/** What an object inherits from. */
function parentOf(value: object): object | null {
  // oxlint-disable-next-line no-restricted-properties -- it is read, and not changed
  return Object.getPrototypeOf(value) as object | null;
}

export function wrong(field: string, found: unknown, expected: string): InvalidArgumentError {
  return new InvalidArgumentError(`${field} is ${describe(found)}, expected ${expected}`);
}

/** A whole number from `least` to 2^53 - 1. */
export function whole(field: string, value: number, least = 0): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw wrong(field, value, `a whole number of at least ${least}`);
}

/** A time, which may be endless unless `most` says otherwise. */
export function milliseconds(field: string, value: number, most = Infinity): number {
  if (typeof value === 'number' && value >= 0 && value <= most) return value;
  throw wrong(field, value, `a number of milliseconds from 0 to ${most}`);
}

/** Not what JavaScript takes for one: the text "no" is true to it. */
export function boolean(field: string, value: boolean | undefined): boolean {
  if (typeof value === 'boolean') return value;
  throw wrong(field, value, 'true or false');
}

export function callable<Value>(field: string, value: Value): Value {
  if (typeof value === 'function') return value;
  throw wrong(field, value, 'a function');
}

/** What has the fields of an option or a point. */
export function record<Value extends object>(field: string, value: Value): Value {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw wrong(field, value, 'an object');
}

/** An object without other members than these: a misspelled one would be passed over. */
export function members<Value extends object>(
  field: string,
  value: Value,
  names: readonly string[],
): Value {
  const unknown = Object.keys(record(field, value)).find((name) => !names.includes(name));
  if (unknown === undefined) return value;
  throw new InvalidArgumentError(
    `${field}.${unknown} is unknown, expected only ${names.join(', ')}`,
  );
}

export function array<Item>(field: string, value: readonly Item[] | undefined): readonly Item[] {
  if (Array.isArray(value)) return value;
  throw wrong(field, value, 'an array');
}

export function finite(field: string, value: number): number {
  if (Number.isFinite(value)) return value;
  throw wrong(field, value, 'a finite number');
}

/** One of a few names. */
export function oneOf<Name extends string>(
  field: string,
  value: Name,
  names: readonly Name[],
): Name {
  if (names.includes(value)) return value;
  throw wrong(field, value, `one of ${names.join(', ')}`);
}

/** Unicode that can be written in UTF-8: without a half of a surrogate pair. */
export function text(field: string, value: string | undefined): string {
  if (typeof value !== 'string') throw wrong(field, value, 'a string');
  if (value.isWellFormed()) return value;
  throw new InvalidArgumentError(
    `${field} has a half of a surrogate pair, expected well-formed Unicode`,
  );
}

/** What a header may hold. The message does not say what was found: it is a secret. */
export function printable(field: string, value: string): string {
  if (typeof value === 'string' && /^[\x20-\x7e]+$/.test(value)) return value;
  throw new InvalidArgumentError(`${field} cannot be sent, expected visible characters of ASCII`);
}
