import { TooMuchEffort } from '../decode/effort.js';
import { VectordError } from '../errors.js';
import type { Limits } from '../limits.js';

/** A smaller body cannot become large in memory, whatever it holds. */
const SMALL_BODY_BYTES = 1024 * 1024;

/** An item of a batch has 9 parts; this leaves room for fields that are ignored. */
const PARTS_PER_ITEM = 20;
const PARTS_BESIDE_ITEMS = 100_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

/**
 * Refuses a body of more arrays, objects and strings than the largest batch can have. Numbers
 * cost as much parsed as written, but 64 MiB of `{},` cost 2 GB and many seconds.
 */
export function checkJsonParts(body: Buffer, limits: Limits): void {
  if (body.length <= SMALL_BODY_BYTES) return;
  const { maxBatch } = limits;
  const maxParts = maxJsonParts(limits);
  if (!hasMoreParts(body, maxParts)) return;
  throw new VectordError(
    'TOO_LARGE',
    `The body has more than ${maxParts} arrays, objects and strings, ` +
      `which no batch of ${maxBatch} items needs (MAX_BATCH)`,
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

function hasMoreParts(body: Buffer, maxParts: number): boolean {
  let parts = 0;
  for (let index = 0; index < body.length; index += 1) {
    const byte = body[index];
    if (byte === QUOTE) index = endOfString(body, index);
    else if (byte !== OPEN_BRACE && byte !== OPEN_BRACKET) continue;
    parts += 1;
    if (parts > maxParts) return true;
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
