import { isUtf8 } from 'node:buffer';
import { invalid } from '../errors.js';
import type { Limits } from '../limits.js';
import { messageOf } from '../start-error.js';
import { checkJsonParts } from './json-parts.js';

/** What the JSON in a body says. */
export function parseJson(body: Uint8Array, limits: Limits): unknown {
  if (body.length === 0) throw invalid('The body is empty, expected a JSON object');
  if (!isUtf8(body)) throw invalid('The body is not valid UTF-8');
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  checkJsonParts(bytes, limits);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw invalid(`The body is not valid JSON: ${messageOf(error)}`);
  }
}
