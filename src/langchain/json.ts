import { isPlain, wrong } from '../client/checks.js';
import { InvalidArgumentError } from '../client/errors.js';

/**
 * A value as JSON keeps it: a Date as its ISO text, an object without its undefined members. Throws
 * an InvalidArgumentError that names by its `path` what JSON would drop or change.
 */
export function jsonOf(path: string, value: unknown): unknown {
  try {
    return keptOf(path, value);
  } catch (error) {
    // The stack is at its end.
    if (!(error instanceof RangeError)) throw error;
    throw new InvalidArgumentError(`${path} is nested too deeply, or is a part of itself`);
  }
}

function keptOf(path: string, value: unknown): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map((item, at) => keptOf(`${path}[${at}]`, item));
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  if (isPlain(value)) return membersOf(path, value);
  throw wrong(path, value, 'a value that JSON has');
}

function membersOf(path: string, value: object): object {
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    members.map(([key, member]) => [key, keptOf(`${path}.${key}`, member)]),
  );
}
