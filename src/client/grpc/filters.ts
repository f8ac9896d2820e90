import type { Condition, Filter, FilterValue as WireValue } from '../../gen/vectord/v1/points.js';
import type { FullCondition, FullFilter } from '../filter.js';
import type { FilterValue } from '../model.js';

/** The message that means the same as a filter. */
export function wireFilter(filter: FullFilter): Filter {
  // A message without a field passes every point, as an object without a member does.
  if ('all' in filter) return filter.all.length === 0 ? {} : { all: wireList(filter.all) };
  if ('any' in filter) return { any: wireList(filter.any) };
  if ('negated' in filter) return { negated: wireFilter(filter.negated) };
  return { condition: wireCondition(filter.condition) };
}

function wireList(filters: readonly FullFilter[]) {
  return { filters: filters.map(wireFilter) };
}

function wireCondition({ field, operator, values }: FullCondition): Condition {
  const [first = false] = values;
  switch (operator) {
    case '$eq':
      return { field, eq: wireValue(first) };
    case '$ne':
      return { field, ne: wireValue(first) };
    case '$gt':
      return { field, gt: wireValue(first) };
    case '$gte':
      return { field, gte: wireValue(first) };
    case '$lt':
      return { field, lt: wireValue(first) };
    case '$lte':
      return { field, lte: wireValue(first) };
    case '$in':
      return { field, anyOf: { values: values.map(wireValue) } };
    case '$nin':
      return { field, noneOf: { values: values.map(wireValue) } };
    case '$exists':
      return { field, exists: first === true };
  }
}

function wireValue(value: FilterValue): WireValue {
  switch (typeof value) {
    case 'string':
      return { text: value };
    case 'number':
      return { number: value };
    case 'boolean':
      return { boolean: value };
  }
}
