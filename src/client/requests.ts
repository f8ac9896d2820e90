import { v4 } from 'uuid';
import { finite, oneOf, text, whole, wrong } from './checks.js';
import { InvalidArgumentError } from './errors.js';
import { metadataText } from './metadata.js';
import type { NewPoint, Part, PointUpdate, Query, SearchPart } from './model.js';
import type { ScrollOptions } from './interface.js';
import type { FullPoint, FullQuery, FullScroll, FullUpdate } from './transport.js';

const SIMILARITIES = ['Euclidean', 'Manhattan', 'Hamming', 'Cosine'] as const;
const CONTENT_TYPES = ['Text', 'Image'] as const;
const ORDERS = ['oldest', 'newest'] as const;
const PARTS = ['vector', 'content', 'contentType', 'metadata'] as const;
const SEARCH_PARTS = ['distance', ...PARTS] as const;

/** What is answered besides ids unless a call says what. */
const PAYLOAD: readonly Part[] = ['content', 'contentType', 'metadata'];
const DISTANCE: readonly SearchPart[] = ['distance'];

/*
 * What a caller gives, with everything in its place that it may leave out. Checked is what JavaScript
 * would turn into something else without a word; the rest is left to the service.
 */

/** A point, with an id drawn for it if it has none: a repeated call stores it once. */
export function fullPoint(
  { id = v4(), vector, content = '', contentType = 'Text', metadata }: NewPoint,
  where: string,
): FullPoint {
  return {
    id: text(`${where}.id`, id).toLowerCase(),
    vector: floats(`${where}.vector`, vector),
    content: text(`${where}.content`, content),
    contentType: oneOf(`${where}.contentType`, contentType, CONTENT_TYPES),
    metadata: jsonOf(`${where}.metadata`, metadata ?? undefined),
  };
}

export function fullUpdate(
  { id, content, contentType, metadata }: PointUpdate,
  where: string,
): FullUpdate {
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

export function fullQuery(query: Query, where = ''): FullQuery {
  const { vector, like, similarity, limit, ef = 0, exact = false, maxDistance } = query;
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
    exact,
    maxDistance: maxDistance === undefined ? undefined : finite(`${where}maxDistance`, maxDistance),
    include: parts(`${where}include`, query.include ?? DISTANCE, SEARCH_PARTS),
  };
}

export function fullScroll({ after, order = 'oldest', include }: ScrollOptions): FullScroll {
  return {
    after: after === undefined ? undefined : text('after', after),
    order: oneOf('order', order, ORDERS),
    include: payloadParts(include),
  };
}

export function payloadParts(include: readonly Part[] = PAYLOAD): readonly Part[] {
  return parts('include', include, PARTS);
}

export function ids(list: readonly string[]): readonly string[] {
  for (const [at, id] of list.entries()) text(`ids[${at}]`, id);
  return list;
}

function parts<Name extends string>(
  field: string,
  include: readonly Name[],
  names: readonly Name[],
): readonly Name[] {
  for (const [at, part] of include.entries()) oneOf(`${field}[${at}]`, part, names);
  return include;
}

function floats(field: string, vector: Float32Array | readonly number[]): Float32Array {
  if (vector instanceof Float32Array) return vector;
  if (!Array.isArray(vector)) throw wrong(field, vector, 'a Float32Array or an array of numbers');
  return Float32Array.from(vector as readonly number[]);
}

function jsonOf(field: string, metadata: PointUpdate['metadata']): string | undefined {
  if (metadata === undefined || metadata === null) return undefined;
  return metadataText(field, metadata);
}
