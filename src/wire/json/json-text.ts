import { isUtf8 } from 'node:buffer';
import { ANY_EFFORT } from '../parse-budget.js';
import { invalid } from '../../core/errors.js';
import type { Limits } from '../../core/limits.js';
import { liftVectors } from '../../engine/native.js';
import { messageOf } from '../../core/start-error.js';
import { checkEffort, checkJsonParts, checkRestValues, checkWholeValues } from './json-parts.js';

/** What the JSON in a body says. */
export interface Json {
  readonly value: unknown;
  /**
   * The arrays of numbers under the keys `vector`, each of which `value` has by its index here;
   * undefined if `value` has all of them as they are.
   */
  readonly vectors?: readonly Float32Array[];
}

/**
 * Reads a body. Its vectors are most of it and are read by the addon, in a quarter of the time; a
 * body in which that is not possible is read by JSON.parse alone, which tells what is wrong with it.
 * Throws a TooMuchEffort when it has more than `maxParts`.
 */
export function parseJson(body: Uint8Array, limits: Limits, maxParts = ANY_EFFORT.parts): Json {
  if (body.length === 0) throw invalid('The body is empty, expected a JSON object');
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  checkJsonParts(bytes, limits);
  return parseLifted(bytes, limits, maxParts) ?? { value: parseWhole(bytes, limits, maxParts) };
}

function parseLifted(bytes: Buffer, limits: Limits, maxParts: number): Json | undefined {
  const lifted = liftVectors(bytes);
  if (lifted === undefined || !isUtf8(lifted.rest)) return undefined;
  checkEffort(lifted.rest, maxParts);
  checkRestValues(lifted.rest, limits);
  try {
    return { value: JSON.parse(lifted.rest.toString('utf8')), vectors: lifted.vectors };
  } catch {
    return undefined;
  }
}

function parseWhole(bytes: Buffer, limits: Limits, maxParts: number): unknown {
  checkEffort(bytes, maxParts);
  checkWholeValues(bytes, limits);
  if (!isUtf8(bytes)) throw invalid('The body is not valid UTF-8');
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw invalid(`The body is not valid JSON: ${messageOf(error)}`);
  }
}
