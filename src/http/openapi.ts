import { readFileSync } from 'node:fs';

const DOCUMENT = new URL('../../docs/openapi.yaml', import.meta.url);

/** How long an array of numbers may be, as the document has it for every possible dimension. */
const ANY_ITEMS = /(\bminItems: )1(\n +maxItems: )65536\b/;

/** How long the base64 of a vector may be, likewise. */
const ANY_CHARACTERS = /(\bminLength: )6(\n +maxLength: )349528\b/;

/** The description of the HTTP interface, with the one length that vectors have here. */
export function openapiDocument(dimension: number): string {
  const bytes = dimension * Float32Array.BYTES_PER_ELEMENT;
  const withoutPadding = Math.ceil((bytes * 8) / 6);
  const withPadding = Math.ceil(bytes / 3) * 4;
  const document = readFileSync(DOCUMENT, 'utf8');
  const ofItems = bounded(document, ANY_ITEMS, dimension, dimension);
  return bounded(ofItems, ANY_CHARACTERS, withoutPadding, withPadding);
}

function bounded(document: string, bounds: RegExp, least: number, most: number): string {
  if (!bounds.test(document)) throw new Error(`docs/openapi.yaml has no bounds such as ${bounds}`);
  return document.replace(bounds, `$1${least}$2${most}`);
}
