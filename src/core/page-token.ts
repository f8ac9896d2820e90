import { invalid, type VectordError } from './errors.js';

const STORE_ID_BYTES = 16;
const TOKEN_BYTES = STORE_ID_BYTES + 8;

/** Names the page behind another: only the points that made it can read it. */
export type PageToken = Uint8Array;

/** The text of a token; clients hand it back as it is. */
export function formatPageToken(token: PageToken): string {
  return Buffer.from(token).toString('base64url');
}

/** Throws a VectordError for a text that is none of a token. */
export function parsePageToken(text: string): PageToken {
  const bytes = Buffer.from(text, 'base64url');
  // Node passes over characters that have no place in base64.
  if (bytes.toString('base64url') !== text) throw noPageToken();
  return bytes;
}

/** The token of the page behind a sequence of a store. */
export function storeToken(storeId: Uint8Array, sequence: number): PageToken {
  const bytes = Buffer.alloc(TOKEN_BYTES);
  bytes.set(storeId);
  bytes.writeBigUInt64BE(BigInt(sequence), STORE_ID_BYTES);
  return bytes;
}

/** The sequence that a token names. Throws a VectordError for that of another store, or none. */
export function sequenceOf(storeId: Uint8Array, token: PageToken): number {
  if (token.length !== TOKEN_BYTES) throw noPageToken();
  const bytes = Buffer.from(token);
  if (!bytes.subarray(0, STORE_ID_BYTES).equals(storeId)) {
    throw invalid('after is the next of a page of another store, expected one of this store');
  }
  const sequence = Number(bytes.readBigUInt64BE(STORE_ID_BYTES));
  if (!Number.isSafeInteger(sequence)) throw noPageToken();
  return sequence;
}

/** Says that a client sent no token. */
export function noPageToken(): VectordError {
  return invalid('after is no next of a page, expected one as it was answered');
}
