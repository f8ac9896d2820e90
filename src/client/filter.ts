import { array, boolean, finite, isPlain, oneOf, text, wrong } from './checks.js';
import { InvalidArgumentError } from './errors.js';
import type { Filter, FilterValue } from './model.js';

const ONE_VALUE = ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte'] as const;
const SEVERAL = ['$in', '$nin'] as const;
const OPERATORS = [...ONE_VALUE, ...SEVERAL, '$exists'] as const;

/** How many of `$and`, `$or` and `$not` may lie within each other. */
const MAX_DEPTH = 16;

/** How deep anything lies in a filter: each `$or` is a list in an object, the last of operators. */
const MAX_NESTING = 2 * MAX_DEPTH + 2;

export type Operator = (typeof OPERATORS)[number];

/** One condition of a filter. */
export interface FullCondition {
  readonly field: string;
  readonly operator: Operator;
  /** One of `$eq` and its like, several of `$in` and `$nin`, a boolean of `$exists`. */
  readonly values: readonly FilterValue[];
}

/** A filter, each condition of it by itself. */
export type FullFilter =
  | { readonly all: readonly FullFilter[] }
  | { readonly any: readonly FullFilter[] }
  | { readonly negated: FullFilter }
  | { readonly condition: FullCondition };

/** A filter as it was given, and each condition of it by itself. */
export interface CheckedFilter {
  /** A copy: a getter may answer otherwise when it is asked again. */
  readonly given: Filter;
  readonly full: FullFilter;
}

/** Refuses what could not be sent as it is; the service says what breaks a rule besides. */
export function readFilter(path: string, filter: Filter): CheckedFilter {
  const given = copy(path, filter, 0) as Filter;
  return { given, full: read(path, given, 0) };
}

/** What is no plain object, or deeper than all of a filter, is left as it is: `read` refuses it. */
function copy(path: string, value: unknown, depth: number): unknown {
  if (depth > MAX_NESTING) return value;
  if (Array.isArray(value)) {
    return Array.from(value, (item, at) => copy(`${path}[${at}]`, item, depth + 1));
  }
  if (!isPlain(value)) return value;
  const members = new Map<unknown, unknown>(Object.entries(value));
  // A condition that is passed over would let pass points that the caller meant to leave out.
  const own = [...Object.getOwnPropertyNames(value), ...Object.getOwnPropertySymbols(value)];
  const hidden = own.find((name) => !members.has(name));
  if (hidden !== undefined) {
    throw new InvalidArgumentError(
      `${path}.${String(hidden)} is hidden, expected only enumerable members that texts name`,
    );
  }
  return Object.fromEntries(
    Array.from(members, ([name, it]) => [name, copy(`${path}.${String(name)}`, it, depth + 1)]),
  );
}

function read(path: string, filter: unknown, depth: number): FullFilter {
  if (!isPlain(filter)) {
    throw wrong(path, filter, 'a filter: a plain object, whose members are its own');
  }
  if (depth > MAX_DEPTH) {
    throw wrong(path, filter, `at most ${MAX_DEPTH} of $and, $or and $not within each other`);
  }
  // One that is undefined is refused like any other that is no value: left out, it would let pass
  // points that the caller meant to leave out.
  const parts = Object.entries(filter).flatMap(([name, value]) =>
    member(path, name, value, depth + 1),
  );
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : { all: parts };
}

function member(where: string, name: string, value: unknown, depth: number): FullFilter[] {
  const path = `${where}.${name}`;
  switch (name) {
    case '$and':
      return [{ all: filters(path, value, depth) }];
    case '$or':
      return [{ any: filters(path, value, depth) }];
    case '$not':
      return [{ negated: read(path, value, depth) }];
    default:
      return conditions(path, name, value);
  }
}

function filters(path: string, list: unknown, depth: number): FullFilter[] {
  const items = array(path, list as readonly unknown[]);
  if (items.length === 0) throw empty(path, 'an array of at least one filter');
  return Array.from(items, (item, at) => read(`${path}[${at}]`, item, depth));
}

function conditions(path: string, name: string, value: unknown): FullFilter[] {
  if (name.startsWith('$')) oneOf(path, name, ['$id', '$content_type']);
  const field = text(path, name);
  if (!isPlain(value)) return [{ condition: condition(path, field, '$eq', value) }];
  const operators: [string, unknown][] = Object.entries(value);
  if (operators.length === 0) throw empty(path, 'a value or operators');
  return operators.map(([operator, operand]) => ({
    condition: condition(
      `${path}.${operator}`,
      field,
      oneOf<Operator>(`${path}.${operator}`, operator as Operator, OPERATORS),
      operand,
    ),
  }));
}

function condition(
  path: string,
  field: string,
  operator: Operator,
  operand: unknown,
): FullCondition {
  if (operator === '$exists') {
    return { field, operator, values: [boolean(path, operand as boolean)] };
  }
  if (operator !== '$in' && operator !== '$nin') {
    return { field, operator, values: [valueOf(path, operand)] };
  }
  const items: readonly unknown[] = array(path, operand as readonly unknown[]);
  return {
    field,
    operator,
    values: Array.from(items, (item, at) => valueOf(`${path}[${at}]`, item)),
  };
}

function valueOf(path: string, value: unknown): FilterValue {
  switch (typeof value) {
    case 'number':
      return finite(path, value);
    case 'string':
      return text(path, value);
    case 'boolean':
      return value;
    default:
      throw wrong(path, value, 'a string, a boolean or a finite number');
  }
}

function empty(path: string, expected: string): InvalidArgumentError {
  return new InvalidArgumentError(`${path} is empty, expected ${expected}`);
}
