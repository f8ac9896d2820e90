import { isUtf8 } from 'node:buffer';
import { invalid } from '../errors.js';
import type { Limits } from '../limits.js';
import { liftVectors } from '../native.js';
import { messageOf } from '../start-error.js';
import { checkJsonParts } from './json-parts.js';

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
 */
export function parseJson(body: Uint8Array, limits: Limits): Json {
  if (body.length === 0) throw invalid('The body is empty, expected a JSON object');
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  checkJsonParts(bytes, limits);
  return parseLifted(bytes) ?? { value: parseWhole(bytes) };
}

function parseLifted(bytes: Buffer): Json | undefined {
  const lifted = liftVectors(bytes);
  if (lifted === undefined || !isUtf8(lifted.rest)) return undefined;
  try {
    return { value: JSON.parse(lifted.rest.toString('utf8')), vectors: lifted.vectors };
  } catch {
    return undefined;
  }
}

function parseWhole(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw invalid('The body is not valid UTF-8');
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw invalid(`The body is not valid JSON: ${messageOf(error)}`);
  }
}
