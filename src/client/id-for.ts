import { v5 } from 'uuid';
import { text as checked } from './checks.js';

/** What `idFor` hashes a text with. It never changes: ids would. */
export const ID_NAMESPACE = '1f798449-f176-40ab-9cbe-569099033734';

/**
 * The id of a point for those who have names of their own, such as `doc-17`: a UUID of version 5,
 * 8-4-4-4-12 in lower case. The same text always gives the same id, in every client of vectord.
 * `namespace` is a UUID under which the texts are told from those of others; `ID_NAMESPACE` unless
 * told otherwise. Throws a TypeError if it is no UUID, and an InvalidArgumentError if `text` is no
 * text, or not well-formed Unicode.
 */
export function idFor(text: string, namespace: string = ID_NAMESPACE): string {
  return v5(checked('text', text), namespace);
}
