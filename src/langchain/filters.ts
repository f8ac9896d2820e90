// Filters on documents as filters on the points that keep them; the same as in the Python client.
//
// Metadata that the service takes as it is can be asked for; documents.ts says which that is. What is
// kept as JSON text is not there to a filter: `$ne`, `$nin`, `$not` and `{"$exists": false}` pass it.
// The two names that the store keeps to itself are refused. `$id` is the id of the document. A Date
// is kept as its ISO text, by which it can be asked for.
import { isPlain } from '../client/checks.js';
import { InvalidArgumentError } from '../client/errors.js';
import { readFilter } from '../client/filter.js';
import type { Filter } from '../client/model.js';
import { ID_KEY, pointIdOf, REST_KEY } from './documents.js';

/** The filter that points have to pass for their documents to pass this one. */
export function filterOnPoints(filter: Filter): Filter {
  // Refuses what is no filter, so that below there is nothing else.
  return onPoints('filter', readFilter('filter', filter).given);
}

function onPoints(path: string, filter: Filter): Filter {
  const members = Object.entries(filter).map(([key, value]) => [
    key,
    member(`${path}.${key}`, key, value),
  ]);
  return Object.fromEntries(members) as Filter;
}

function member(path: string, key: string, value: unknown): unknown {
  switch (key) {
    case '$not':
      return onPoints(path, value as Filter);
    case '$and':
    case '$or':
      return (value as readonly Filter[]).map((item, at) => onPoints(`${path}[${at}]`, item));
    case '$id':
      return pointIdsOf(value);
    case ID_KEY:
    case REST_KEY:
      throw new InvalidArgumentError(
        `${path} is a name that the store keeps to itself, expected $id or others`,
      );
    default:
      return value;
  }
}

/** The ids of points for those of documents in a condition: one, several, or those of operators. */
function pointIdsOf(value: unknown): unknown {
  if (typeof value === 'string') return pointIdOf(value);
  if (Array.isArray(value)) return value.map(pointIdsOf);
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, it]) => [name, pointIdsOf(it)]));
}
