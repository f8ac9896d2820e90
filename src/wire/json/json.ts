import { adviceOnField, adviceOnSimilarity } from '../../core/advice.js';
import { invalid, VectordError } from '../../core/errors.js';
import type { Limits } from '../../core/limits.js';
import { ContentType, type Query, type Similarity } from '../../core/model.js';
import type { PointList } from '../../core/point-batch.js';
import type { QueryList } from '../../core/query-batch.js';
import { tooManyItems } from '../../core/rules.js';
import * as native from '../../engine/json.js';

/*
 * What the bodies of requests hold. The addon reads them; each of these functions throws a
 * VectordError where it refuses one.
 */

/** The one point of an insert. */
export function readPoint(body: Uint8Array, limits: Limits): PointList {
  return accepted(native.readPoint(body, limits), limits);
}

/** The points of a batch insert. */
export function readPoints(body: Uint8Array, limits: Limits): PointList {
  return accepted(native.readPoints(body, limits), limits);
}

/** The query of a search. */
export function readQuery(body: Uint8Array, limits: Limits): Query {
  const { vector, similarity, limit, ef } = accepted(native.readQuery(body), limits);
  return { vector, similarity: similarity as Similarity, limit, ef };
}

/** The queries of a batch search. */
export function readQueries(body: Uint8Array, limits: Limits): QueryList {
  return accepted(native.readQueries(body, limits), limits);
}

export function contentTypeName(value: ContentType): string {
  return value === ContentType.Image ? 'Image' : 'Text';
}

/** What a body holds; throws a VectordError where it is refused. */
export function accepted<Value extends object>(
  read: Value | native.JsonRefusal,
  limits: Limits,
): Value {
  if ('refusal' in read) throw refused(read, limits);
  return read;
}

function refused(read: native.JsonRefusal, limits: Limits): VectordError {
  const { refusal, about, count, expected } = read;
  switch (refusal) {
    case 'NotUtf8':
      return invalid('The body is not valid UTF-8');
    case 'Empty':
      return invalid('The body is empty, expected a JSON object');
    case 'Broken':
      return invalid(`The body is not valid JSON: ${about}`);
    case 'TooMany':
      return tooManyItems(limits, about, count);
    case 'Wrong':
      return invalid(
        `${about || 'The body'} is ${describe(read)}, expected ${expected}${adviceOn(read)}`,
      );
    default:
      return new VectordError('OVERLOADED', 'There is no memory for the body');
  }
}

function adviceOn({ about, found, text, expected }: native.JsonRefusal): string {
  if (found === 'unknown') return adviceOnField(about, expected);
  return about.endsWith('similarity') ? adviceOnSimilarity(text) : '';
}

const LONGEST_QUOTE = 40;

/** What was found, in a few words: never a whole array, object or long text. */
function describe({ found, number, text }: native.JsonRefusal): string {
  if (text !== undefined) {
    const short = text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}...` : text;
    return JSON.stringify(short);
  }
  if (number === undefined) return found ?? '';
  // JSON has no infinity: a number as great as 1e999 has become one.
  return Number.isFinite(number) ? String(number) : 'out of range';
}
