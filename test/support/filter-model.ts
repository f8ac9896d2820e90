import type { Filter, FilterOperators, FilterValue } from '../../src/client/model.js';
import type { TestPoint } from './clients.js';

/*
 * What docs/FILTERS.md says of filters, without any of the service's code: slow, and plain enough to
 * be checked by reading.
 */

/** What a filter is asked about. */
export type Subject = Pick<TestPoint, 'contentType' | 'metadata'> & { readonly id: string };

export function passes(filter: Filter, point: Subject): boolean {
  return Object.entries(filter).every(([name, value]) => {
    switch (name) {
      case '$and':
        return (value as readonly Filter[]).every((one) => passes(one, point));
      case '$or':
        return (value as readonly Filter[]).some((one) => passes(one, point));
      case '$not':
        return !passes(value as Filter, point);
      default:
        return holds(value as FilterValue | FilterOperators, valuesOf(name, point));
    }
  });
}

/** Whether a filter, or one within it, names nothing: a delete takes none of these. */
export function hasEmpty(filter: Filter): boolean {
  const members = Object.entries(filter);
  const isEmpty = ([name, value]: [string, unknown]): boolean => {
    if (name === '$and' || name === '$or') return (value as readonly Filter[]).some(hasEmpty);
    return name === '$not' && hasEmpty(value as Filter);
  };
  return members.length === 0 || members.some(isEmpty);
}

/** What a point has under a name; undefined for nothing, as for null. */
function valuesOf(name: string, point: Subject): readonly FilterValue[] | undefined {
  if (name === '$id') return [point.id];
  if (name === '$content_type') return [point.contentType];
  const found = Object.entries(point.metadata ?? {}).find(([key]) => key === name)?.[1];
  if (found === undefined || found === null) return undefined;
  return typeof found === 'object' ? found : [found];
}

type Values = readonly FilterValue[] | undefined;

function holds(condition: FilterValue | FilterOperators, values: Values): boolean {
  if (typeof condition !== 'object') return has(values, condition);
  return Object.entries(condition).every(([operator, operand]) =>
    holdsOne(operator, operand as FilterValue, values),
  );
}

function holdsOne(
  operator: string,
  operand: FilterValue | readonly FilterValue[],
  values: Values,
): boolean {
  const list = typeof operand === 'object' ? operand : [operand];
  const isAmong = list.some((one) => has(values, one));
  const isOrdered = (isRight: (order: number) => boolean): boolean =>
    (values ?? []).some((value) => list.some((bound) => isRight(order(value, bound))));
  switch (operator) {
    case '$eq':
    case '$in':
      return isAmong;
    case '$ne':
    case '$nin':
      return !isAmong;
    case '$exists':
      return (values !== undefined) === operand;
    case '$gt':
      return isOrdered((found) => found > 0);
    case '$gte':
      return isOrdered((found) => found >= 0);
    case '$lt':
      return isOrdered((found) => found < 0);
    case '$lte':
      return isOrdered((found) => found <= 0);
    default:
      throw new Error(`${operator} is no operator`);
  }
}

function has(values: Values, wanted: FilterValue): boolean {
  return values !== undefined && values.includes(wanted);
}

/** Below 0, 0 or above 0 as the first is less, equal or greater; NaN where they have no order. */
function order(first: FilterValue, second: FilterValue): number {
  if (typeof first === 'number' && typeof second === 'number') {
    return first === second ? 0 : first - second;
  }
  if (typeof first !== 'string' || typeof second !== 'string') return Number.NaN;
  const [others, wanted] = [codePoints(first), codePoints(second)];
  const at = others.findIndex((point, index) => point !== wanted[index]);
  return at < 0 ? others.length - wanted.length : (others[at] ?? 0) - (wanted[at] ?? -1);
}

function codePoints(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0);
}
