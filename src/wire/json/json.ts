import { invalid, type VectordError } from '../../core/errors.js';
import {
  ContentType,
  Similarity,
  type NewPoint,
  type Payload,
  type Query,
} from '../../core/model.js';
import { checkBatchSize } from '../../core/rules.js';
import type { Limits } from '../../core/limits.js';
import type { Json } from './json-text.js';

const CONTENT_TYPES = new Map<unknown, ContentType>(Object.entries(ContentType));
const SIMILARITIES = new Map<unknown, Similarity>(Object.entries(Similarity));

/** What is checked before the items of a batch are built. */
type BatchLimits = Pick<Limits, 'maxBatch'>;

/** The point that the body of an insert describes. */
export function toNewPoint(body: Json): NewPoint {
  return newPoint(toObject(body.value, ''), '', body);
}

/** The points that the body of a batch insert describes. */
export function toNewPoints(body: Json, limits: BatchLimits): NewPoint[] {
  return toItems(body, 'vectors', limits, newPoint);
}

/** The query that the body of a search describes. */
export function toQuery(body: Json): Query {
  return query(toObject(body.value, ''), '', body);
}

/** The queries that the body of a batch search describes. */
export function toQueries(body: Json, limits: BatchLimits): Query[] {
  return toItems(body, 'queries', limits, query);
}

export function contentTypeName(value: ContentType): string {
  return value === ContentType.Image ? 'Image' : 'Text';
}

type JsonObject = Readonly<Record<string, unknown>>;

/** Converts an object of `body`; `prefix` leads to its fields: '' or, say, 'vectors[2].'. */
type Convert<Item> = (object: JsonObject, prefix: string, body: Json) => Item;

const newPoint: Convert<NewPoint> = (object, prefix, body) => ({
  vector: toVector(object['vector'], `${prefix}vector`, body),
  payload: toPayload(object['payload'], `${prefix}payload`),
});

const query: Convert<Query> = (object, prefix, body) => ({
  vector: toVector(object['vector'], `${prefix}vector`, body),
  similarity: toNamed(object['similarity'], `${prefix}similarity`, SIMILARITIES),
  limit: toCount(object['limit'], `${prefix}limit`),
  ef: object['ef'] === undefined ? undefined : toCount(object['ef'], `${prefix}ef`),
});

function toItems<Item>(
  body: Json,
  field: string,
  limits: BatchLimits,
  convert: Convert<Item>,
): Item[] {
  const items = toObject(body.value, '')[field];
  if (!Array.isArray(items)) throw unexpected(items, field, 'an array of objects');
  checkBatchSize(limits, field, items.length);
  return items.map((item: unknown, index) => {
    const path = `${field}[${index}]`;
    return convert(toObject(item, path), `${path}.`, body);
  });
}

function toPayload(value: unknown, path: string): Payload {
  const object = toObject(value, path);
  const contentType = toNamed(object['content_type'], `${path}.content_type`, CONTENT_TYPES);
  const content = object['content'];
  if (typeof content !== 'string') throw unexpected(content, `${path}.content`, 'a string');
  return { contentType, content };
}

function toVector(value: unknown, path: string, { vectors }: Json): Float32Array {
  const read = typeof value === 'number' ? vectors?.[value] : undefined;
  if (read !== undefined) return read;
  if (!Array.isArray(value)) throw unexpected(value, path, 'an array of numbers');
  const vector = new Float32Array(value.length);
  for (let index = 0; index < vector.length; index += 1) {
    const number: unknown = value[index];
    if (typeof number !== 'number') throw unexpected(number, `${path}[${index}]`, 'a number');
    vector[index] = number;
    if (!Number.isFinite(vector[index])) {
      throw unexpected(number, `${path}[${index}]`, 'a number within ±3.4028235e38');
    }
  }
  return vector;
}

function toNamed<Value>(
  value: unknown,
  path: string,
  valuesByName: ReadonlyMap<unknown, Value>,
): Value {
  const found = valuesByName.get(value);
  if (found !== undefined) return found;
  const names = [...valuesByName.keys()].map((name) => JSON.stringify(name)).join(' or ');
  throw unexpected(value, path, names);
}

/** A whole number from 0 on; one too great for a double to hold exactly is still a number. */
function toCount(value: unknown, path: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  throw unexpected(value, path, 'a whole number, not negative');
}

function toObject(value: unknown, path: string): JsonObject {
  if (isObject(value)) return value;
  throw unexpected(value, path === '' ? 'The body' : path, 'an object');
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unexpected(found: unknown, path: string, expected: string): VectordError {
  return invalid(`${path} is ${describe(found)}, expected ${expected}`);
}

const LONGEST_QUOTE = 40;

/** What was found, in a few words: never a whole array, object or long text. */
function describe(value: unknown): string {
  if (value === undefined) return 'missing';
  if (Array.isArray(value)) return 'an array';
  if (isObject(value)) return 'an object';
  if (typeof value === 'string') {
    const short = value.length > LONGEST_QUOTE ? `${value.slice(0, LONGEST_QUOTE)}...` : value;
    return JSON.stringify(short);
  }
  // JSON has no infinity: a number as great as 1e999 has become one.
  if (value === Infinity || value === -Infinity) return 'out of range';
  return String(value);
}
