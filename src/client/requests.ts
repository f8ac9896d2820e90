import { v4 } from 'uuid';
import { array, boolean, finite, members, oneOf, text, whole, wrong } from './checks.js';
import { InvalidArgumentError } from './errors.js';
import { readFilter, type CheckedFilter } from './filter.js';
import { metadataText } from './metadata.js';
import type { Filter, NewPoint, Part, PointUpdate, Query, SearchPart } from './model.js';
import type { ScrollOptions } from './interface.js';
import type { FullPoint, FullQuery, FullScroll, FullUpdate } from './transport.js';

const SIMILARITIES = ['Euclidean', 'Manhattan', 'Hamming', 'Cosine'] as const;
const CONTENT_TYPES = ['Text', 'Image'] as const;
const ORDERS = ['oldest', 'newest'] as const;
const PARTS = ['vector', 'content', 'contentType', 'metadata'] as const;
const SEARCH_PARTS = ['distance', ...PARTS] as const;

const POINT_MEMBERS: readonly string[] = [
  'id',
  'vector',
  'content',
  'contentType',
  'metadata',
] satisfies readonly (keyof NewPoint)[];

const UPDATE_MEMBERS: readonly string[] = [
  'id',
  'content',
  'contentType',
  'metadata',
] satisfies readonly (keyof PointUpdate)[];

const QUERY_MEMBERS: readonly string[] = [
  'vector',
  'like',
  'similarity',
  'limit',
  'ef',
  'exact',
  'maxDistance',
  'filter',
  'include',
] satisfies readonly (keyof Query)[];

/** What is answered besides ids unless a call says what. */
const PAYLOAD: readonly Part[] = ['content', 'contentType', 'metadata'];
const OF_A_SEARCH: readonly SearchPart[] = ['distance', 'content', 'metadata'];

/*
 * What a caller gives, with everything in its place that it may leave out. Checked is what JavaScript
 * would turn into something else without a word; the rest is left to the service.
 */

/** A point, with an id drawn for it if it has none: a repeated call stores it once. */
export function fullPoint(point: NewPoint<object>, where: string): FullPoint {
  const { vector, metadata, ...rest } = members(where, point, POINT_MEMBERS);
  const { id = v4(), content = '', contentType = 'Text' } = rest;
  return {
    id: text(`${where}.id`, id).toLowerCase(),
    vector: floats(`${where}.vector`, vector),
    content: text(`${where}.content`, content),
    contentType: oneOf(`${where}.contentType`, contentType, CONTENT_TYPES),
    metadata: jsonOf(`${where}.metadata`, metadata ?? undefined),
  };
}

export function fullUpdate(update: PointUpdate<object>, where: string): FullUpdate {
  const { id, content, contentType, metadata } = members(where, update, UPDATE_MEMBERS);
  return {
    id: text(`${where}.id`, id),
    content: content === undefined ? undefined : text(`${where}.content`, content),
    contentType:
      contentType === undefined
        ? undefined
        : oneOf(`${where}.contentType`, contentType, CONTENT_TYPES),
    metadata: metadata === null ? null : jsonOf(`${where}.metadata`, metadata),
  };
}

/** The message of an error has `where` before the fields of the query. */
export function fullQuery(query: Query, where = ''): FullQuery {
  const name = where === '' ? 'query' : where.slice(0, -1);
  const { vector, like, similarity, limit, ...rest } = members(name, query, QUERY_MEMBERS);
  const { ef = 0, exact = false, maxDistance, filter, include = OF_A_SEARCH } = rest;
  if ((vector === undefined) === (like === undefined)) {
    const found = vector === undefined ? 'neither' : 'both';
    throw new InvalidArgumentError(`${where}vector and like: found ${found}, expected one of them`);
  }
  return {
    vector: vector === undefined ? undefined : floats(`${where}vector`, vector),
    like: like === undefined ? undefined : text(`${where}like`, like),
    similarity: oneOf(`${where}similarity`, similarity, SIMILARITIES),
    limit: whole(`${where}limit`, limit, 1),
    ef: whole(`${where}ef`, ef),
    exact: boolean(`${where}exact`, exact),
    maxDistance: maxDistance === undefined ? undefined : finite(`${where}maxDistance`, maxDistance),
    filter: checkedFilter(filter, where),
    include: parts(`${where}include`, include, SEARCH_PARTS),
  };
}

export function fullScroll({
  after,
  order = 'oldest',
  filter,
  include,
}: ScrollOptions): FullScroll {
  return {
    after: after === undefined ? undefined : position(after),
    order: oneOf('order', order, ORDERS),
    filter: checkedFilter(filter),
    include: payloadParts(include),
  };
}

/** A filter that can be sent as it is, if there is one. */
export function checkedFilter(filter: Filter | undefined, where = ''): CheckedFilter | undefined {
  return filter === undefined ? undefined : filterOf(filter, where);
}

export function filterOf(given: Filter, where = ''): CheckedFilter {
  return readFilter(`${where}filter`, given);
}

/** Where a page begins: to gRPC an empty one would be the start. */
function position(after: string): string {
  if (after !== '') return text('after', after);
  throw wrong('after', after, 'the `next` of a page');
}

export function payloadParts(include: readonly Part[] = PAYLOAD): readonly Part[] {
  return parts('include', include, PARTS);
}

export function ids(list: readonly string[]): readonly string[] {
  for (const [at, id] of array('ids', list).entries()) text(`ids[${at}]`, id);
  return list;
}

function parts<Name extends string>(
  field: string,
  include: readonly Name[],
  names: readonly Name[],
): readonly Name[] {
  for (const [at, part] of array(field, include).entries()) oneOf(`${field}[${at}]`, part, names);
  return include;
}

function floats(field: string, vector: Float32Array | readonly number[]): Float32Array {
  if (vector instanceof Float32Array) return vector;
  if (!Array.isArray(vector)) throw wrong(field, vector, 'a Float32Array or an array of numbers');
  const values: readonly unknown[] = vector;
  const copy = new Float32Array(values.length);
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at];
    if (typeof value !== 'number') throw wrong(`${field}[${at}]`, value, 'a number');
    copy[at] = value;
  }
  return copy;
}

function jsonOf(field: string, metadata: object | null | undefined): string | undefined {
  if (metadata === undefined || metadata === null) return undefined;
  return metadataText(field, metadata);
}
