import { idFor, type Filter } from '../../client/browser.js';
import { formatCounted } from './format.js';

/** What somebody typed cannot be used; the message says what is expected. */
export class InputError extends Error {
  override readonly name = 'InputError';
}

/** What a search is for: a vector, or the neighbours of a point, and what its owner calls it. */
export type Question =
  { readonly vector: Float32Array } | { readonly like: string; readonly own?: string };

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Reads a vector (a JSON array, or numbers with commas or spaces between), the id of a point, or as JSON
 * text the id that its owner has for it, of which the clients make the id of the point.
 */
export function parseQuestion(text: string, dimension: number): Question {
  const trimmed = text.trim();
  if (trimmed === '') throw new InputError('Type a vector or the id of a point.');
  if (trimmed.startsWith('"')) {
    const own = parseJson(trimmed, 'The id in quotes', EXPECTED_ID) as string;
    if (own === '') throw new InputError(`The id in quotes is empty. ${EXPECTED_ID}`);
    return UUID.test(own) ? { like: own.toLowerCase() } : { like: idFor(own), own };
  }
  if (UUID.test(trimmed)) return { like: trimmed.toLowerCase() };
  const expected =
    `Expected an array of ${formatCounted(dimension, 'number')} such as [0.1, 0.2, …], the id of a point, or an id ` +
    'of your own in quotes.';
  const items = trimmed.startsWith('[')
    ? (parseJson(trimmed, 'The vector', expected) as unknown[])
    : trimmed.split(/\s*,\s*|\s+/).map((item) => (isNumber(item) ? Number(item) : item));
  const wrong = items.find((item) => !Number.isFinite(item));
  if (wrong !== undefined) {
    const shown = typeof wrong === 'object' ? JSON.stringify(wrong) : String(wrong);
    throw new InputError(`“${shorten(shown, 40)}” is no number. ${expected}`);
  }
  if (items.length !== dimension) {
    throw new InputError(
      `The vector has ${formatCounted(items.length, 'number')}. The vectors of this service have ${dimension}.`,
    );
  }
  return { vector: Float32Array.from(items as number[]) };
}

function isNumber(item: string): boolean {
  return item !== '' && Number.isFinite(Number(item));
}

/** Reads a filter, a JSON object; nothing is no filter. */
export function parseFilter(text: string): Filter | undefined {
  if (text.trim() === '') return undefined;
  const filter = parseJson(text, 'The filter', EXPECTED_FILTER);
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) {
    throw new InputError(`The filter is no JSON object. ${EXPECTED_FILTER}`);
  }
  return filter as Filter;
}

function parseJson(text: string, name: string, expected: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InputError(`${name} is no JSON: ${reason}. ${expected}`);
  }
}

const EXPECTED_ID = 'Expected one such as "doc-17".';
const EXPECTED_FILTER = 'Expected one such as {"lang": "en", "year": {"$gte": 2020}}.';

export function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
