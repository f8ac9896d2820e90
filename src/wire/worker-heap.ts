import { maxJsonParts, maxWholeValues } from './json/json-parts.js';
import type { Limits } from '../core/limits.js';

/** The program itself, and what it is doing with a request of no size. */
export const BASE_BYTES = 64 * 1024 * 1024;

/**
 * The text takes two for each of its bytes where it has a letter that is not Latin. Where its end is
 * broken there are two of them, as it is read with its vectors after it was read without.
 */
const BYTES_PER_TEXT_BYTE = 5;

/** A number and its place in an array. */
const BYTES_PER_VALUE = 24;

/** The most that an array, an object or a string takes besides, as the key of a table does. */
const BYTES_PER_PART = 256;

/** The shortest of them, `{}`, and a comma. */
const TEXT_BYTES_PER_PART = 3;

/** The shortest number, and a comma. */
const TEXT_BYTES_PER_VALUE = 2;

/**
 * The heap that the worst request within the limits needs to be read. Where V8 has less, a request
 * ends the thread, and at the wrong moment the process; left to itself it takes a part of the
 * machine's memory, which may be less.
 */
export function decoderHeapBytes(limits: Limits): number {
  const { maxRequestBytes } = limits;
  const parts = Math.min(maxJsonParts(limits), maxRequestBytes / TEXT_BYTES_PER_PART);
  const values = Math.min(maxWholeValues(limits), maxRequestBytes / TEXT_BYTES_PER_VALUE);
  return (
    BASE_BYTES +
    BYTES_PER_TEXT_BYTE * maxRequestBytes +
    BYTES_PER_VALUE * values +
    BYTES_PER_PART * parts
  );
}
