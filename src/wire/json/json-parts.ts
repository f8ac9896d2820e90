import { TooMuchEffort } from '../parse-budget.js';
import { VectordError } from '../../core/errors.js';
import type { Limits } from '../../core/limits.js';

/** A smaller body cannot become large in memory, whatever it holds. */
const SMALL_BODY_BYTES = 1024 * 1024;

/** An item of a batch has 9 parts; this leaves room for fields that are ignored. */
const PARTS_PER_ITEM = 20;
const PARTS_BESIDE_ITEMS = 100_000;

/** The shortest number that a vector in use has many of, and a comma: `-0.01234`. */
const TEXT_BYTES_PER_NUMBER = 8;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const COMMA = 0x2c;

/**
 * Refuses a body of more arrays, objects and strings than the largest batch can have: 64 MiB of
 * `{},` cost 2 GB and many seconds.
 */
export function checkJsonParts(body: Buffer, limits: Limits): void {
  const maxParts = maxJsonParts(limits);
  if (body.length <= SMALL_BODY_BYTES || !hasMoreParts(body, maxParts)) return;
  throw beyondBatch(`${maxParts} arrays, objects and strings`, limits);
}

/** Refuses what is left of a body without its vectors where it has as many values as no batch. */
export function checkRestValues(rest: Buffer, limits: Limits): void {
  const maxValues = maxJsonParts(limits);
  if (rest.length <= SMALL_BODY_BYTES || !hasMoreCommas(rest, maxValues)) return;
  throw beyondBatch(`${maxValues} values beside its vectors`, limits);
}

function beyondBatch(most: string, { maxBatch }: Limits): VectordError {
  return new VectordError(
    'TOO_LARGE',
    `The body has more than ${most}, which no batch of ${maxBatch} items needs (MAX_BATCH)`,
  );
}

/**
 * Refuses a body of which the vectors are still a part, where it has so many values that they would
 * take many times its size: a number of two bytes takes 24.
 */
export function checkWholeValues(body: Buffer, limits: Limits): void {
  const maxValues = maxWholeValues(limits);
  if (body.length <= SMALL_BODY_BYTES || !hasMoreCommas(body, maxValues)) return;
  throw new VectordError(
    'TOO_LARGE',
    'Its JSON is broken, or something under the key vector is not an array of finite 32-bit ' +
      `floats: where, is told of a body of at most ${maxValues} values`,
  );
}

/** Throws a TooMuchEffort for a text of more arrays, objects and strings than that. */
export function checkEffort(text: Buffer, maxParts: number): void {
  // Each has at least two bytes, and there are none to be looked for in most texts.
  if (text.length < 2 * maxParts || !hasMoreParts(text, maxParts)) return;
  throw new TooMuchEffort('the text has too many parts');
}

/** Arrays, objects and strings that one body may have. */
export function maxJsonParts({ maxBatch }: Limits): number {
  return PARTS_BESIDE_ITEMS + PARTS_PER_ITEM * maxBatch;
}

/** Values that one body may have as long as its vectors have not been read, less one. */
export function maxWholeValues(limits: Limits): number {
  return maxJsonParts(limits) + Math.floor(limits.maxRequestBytes / TEXT_BYTES_PER_NUMBER);
}

function hasMoreParts(text: Buffer, maxParts: number): boolean {
  let parts = 0;
  for (let index = 0; index < text.length; index += 1) {
    const byte = text[index];
    if (byte === QUOTE) index = endOfString(text, index);
    else if (byte !== OPEN_BRACE && byte !== OPEN_BRACKET) continue;
    parts += 1;
    if (parts > maxParts) return true;
  }
  return false;
}

/** Each value of an array and of an object has one before it, but the first. */
function hasMoreCommas(text: Buffer, maxCommas: number): boolean {
  let commas = 0;
  for (let index = 0; index < text.length; index += 1) {
    const byte = text[index];
    if (byte === QUOTE) index = endOfString(text, index);
    else if (byte === COMMA) commas += 1;
    if (commas > maxCommas) return true;
  }
  return false;
}

/** Where the string that begins at `start` has its closing quote. */
function endOfString(body: Buffer, start: number): number {
  let index = start + 1;
  while (index < body.length && body[index] !== QUOTE) {
    index += body[index] === BACKSLASH ? 2 : 1;
  }
  return index;
}
