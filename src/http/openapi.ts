import { readFileSync } from 'node:fs';

const DOCUMENT = new URL('../../docs/openapi.yaml', import.meta.url);

/** How long a vector may be, as the document has it for every dimension that can be configured. */
const ANY_LENGTH = /(\bminItems: )1(\n +maxItems: )65536\b/;

/** The description of the HTTP interface, with the one length that vectors have here. */
export function openapiDocument(dimension: number): string {
  const document = readFileSync(DOCUMENT, 'utf8');
  if (!ANY_LENGTH.test(document)) throw new Error('docs/openapi.yaml bounds no vectors');
  return document.replace(ANY_LENGTH, `$1${dimension}$2${dimension}`);
}
