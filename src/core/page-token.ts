import { invalid } from './errors.js';

const STORE_ID_BYTES = 16;
const TOKEN_BYTES = STORE_ID_BYTES + 8;

/** The text that names the page behind a sequence of a store; clients hand it back as it is. */
export function formatPageToken(storeId: Uint8Array, sequence: number): string {
  const bytes = Buffer.alloc(TOKEN_BYTES);
  bytes.set(storeId);
  bytes.writeBigUInt64BE(BigInt(sequence), STORE_ID_BYTES);
  return bytes.toString('base64url');
}

/** The sequence that a token names. Throws a VectordError for that of another store, or none. */
export function parsePageToken(storeId: Uint8Array, token: string): number {
  const bytes = Buffer.from(token, 'base64url');
  // Node passes over characters that have no place in base64.
  if (bytes.length !== TOKEN_BYTES || bytes.toString('base64url') !== token) {
    throw invalid('after is no next of a page, expected one as it was answered');
  }
  if (!bytes.subarray(0, STORE_ID_BYTES).equals(storeId)) {
    throw invalid('after is the next of a page of another store, expected one of this store');
  }
  const sequence = Number(bytes.readBigUInt64BE(STORE_ID_BYTES));
  if (!Number.isSafeInteger(sequence)) {
    throw invalid('after is no next of a page, expected one as it was answered');
  }
  return sequence;
}
