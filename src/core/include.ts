import type { Include } from './records.js';

/*
 * The bits of what an answer holds besides ids. Both protocols read requests into them, and so does
 * the addon.
 */
export const VECTOR = 1;
export const CONTENT_TYPE = 2;
export const CONTENT = 4;
export const METADATA = 8;
/** Only searches have distances. */
export const DISTANCE = 16;

/** What a request is answered that says nothing of it. */
export const PAYLOAD = CONTENT_TYPE | CONTENT | METADATA;

/** What these bits ask for of the records. */
export function includeOf(bits: number): Include {
  return {
    vector: (bits & VECTOR) !== 0,
    contentType: (bits & CONTENT_TYPE) !== 0,
    content: (bits & CONTENT) !== 0,
    metadata: (bits & METADATA) !== 0,
  };
}

/** Nothing besides ids. */
export const IDS_ALONE = includeOf(0);

/** The bits of these parts. */
export function bitsOf({ vector, contentType, content, metadata }: Include): number {
  return (
    (vector ? VECTOR : 0) |
    (contentType ? CONTENT_TYPE : 0) |
    (content ? CONTENT : 0) |
    (metadata ? METADATA : 0)
  );
}

/** What at least one of several queries asks for. */
export function unionOf(includes: Uint8Array): Include {
  return includeOf(includes.reduce((all, bits) => all | bits, 0));
}
