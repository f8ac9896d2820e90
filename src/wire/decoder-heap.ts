import type { Limits } from '../core/limits.js';

/** The program itself, and what it is doing with a request of no size. */
const BASE_BYTES = 64 * 1024 * 1024;

/** Of a content in a message there is a string, which has two for each where not all is Latin. */
const BYTES_PER_CONTENT_BYTE = 2;

/** The objects that an item of a message becomes before its parts go into arrays. */
const BYTES_PER_ITEM = 1024;

/** The shortest item of a message. */
const MESSAGE_BYTES_PER_ITEM = 2;

/**
 * The heap that the worst message within the limits needs to be read; JSON becomes arrays, which
 * are beside the heap. Where V8 has less, a request ends the thread, and at the wrong moment the
 * process; left to itself it takes a part of the machine's memory, which may be less.
 */
export function decoderHeapBytes({ maxBatch, maxRequestBytes }: Limits): number {
  const items = Math.min(maxBatch, maxRequestBytes / MESSAGE_BYTES_PER_ITEM);
  return BASE_BYTES + BYTES_PER_CONTENT_BYTE * maxRequestBytes + BYTES_PER_ITEM * items;
}
