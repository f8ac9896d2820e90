import { InvalidArgumentError } from 'commander';

/** Reads the value of an option that is a whole number of at least `least`. */
export function wholeFrom(least: number): (text: string) => number {
  return (text) => {
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(number) && number >= least) return number;
    throw new InvalidArgumentError(`Expected a whole number of at least ${least}.`);
  };
}

/** Reads the value of an option that is a number of seconds. */
export function seconds(text: string): number {
  const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (number > 0) return number;
  throw new InvalidArgumentError('Expected a number of seconds, greater than 0.');
}

/** Reads the value of an option that is an object of JSON, such as a filter. */
export function jsonObject<Value extends object>(text: string): Value {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidArgumentError('Expected an object of JSON.');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Value;
  throw new InvalidArgumentError('Expected an object of JSON.');
}
