import { maxJsonParts } from '../http/json-parts.js';
import type { Limits } from '../limits.js';

/** The program itself, and what it is doing with a request of no size. */
export const BASE_BYTES = 64 * 1024 * 1024;

/** The most that a number takes for each byte of its text: 24 for the three of `-0,`. */
const BYTES_PER_TEXT_BYTE = 8;

/** The most that an array, an object or a string takes besides, as the key of a table does. */
const BYTES_PER_PART = 256;

/** The shortest of them, `{}`, and a comma. */
const TEXT_BYTES_PER_PART = 3;

/**
 * The heap that the worst request within the limits needs to be read. Where V8 has less, a request
 * ends the thread, and at the wrong moment the process; left to itself it takes a part of the
 * machine's memory, which may be less.
 */
export function decoderHeapBytes(limits: Limits): number {
  const { maxRequestBytes } = limits;
  const parts = Math.min(maxJsonParts(limits), maxRequestBytes / TEXT_BYTES_PER_PART);
  return BASE_BYTES + BYTES_PER_TEXT_BYTE * maxRequestBytes + BYTES_PER_PART * parts;
}
