import native from '../../native/index.cjs';
import type { Records } from '../core/records.js';

/** Less is left to the garbage collector. */
const LEAST_BYTES = 4_096;

/**
 * Frees the large arrays of records that nobody reads any more; they are empty afterwards. V8 counts
 * their memory, and under load would collect garbage for it several times a second. Memory that is
 * not theirs alone, as that of a message of another node, stays.
 */
export function release({ vectors, contents, metadata }: Records): void {
  for (const { buffer, byteLength } of [vectors, contents, metadata]) {
    const isItsOwn = byteLength === buffer.byteLength;
    if (isItsOwn && byteLength >= LEAST_BYTES) native.release(buffer as ArrayBuffer);
  }
}
