// Documents of LangChain as points, and points as documents; the same as in the Python client, so
// that each reads what the other has stored.
//
// Ids: a UUID is the id of its point, in lower case; every other text has the id that `idFor` makes
// of it. Where the document's id is not just that of the point, it is kept in the metadata, under
// `_vectord_id`.
//
// Metadata: a member that the service takes is kept as it is. Others (nested objects, arrays of
// several kinds, keys that begin with `$`, or that are one of the two names here) are kept together
// as JSON text under `_vectord_metadata`. Both names are left out of the documents that come back,
// whose metadata is as it was; a Date comes back as its ISO text. What another client keeps under
// these names, and is no text or no JSON object, is ignored.
import { Document, type DocumentInterface } from '@langchain/core/documents';
import { isPlain, wrong } from '../client/checks.js';
import { idFor } from '../client/id-for.js';
import type { Metadata, MetadataValue, NewPoint, Point } from '../client/model.js';
import { jsonOf } from './json.js';

export const ID_KEY = '_vectord_id';
export const REST_KEY = '_vectord_metadata';

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const NIL = '00000000-0000-0000-0000-000000000000';

/** The id of the point that keeps a document. */
export function pointIdOf(documentId: string): string {
  const isUsable = UUID.test(documentId) && documentId !== NIL;
  return isUsable ? documentId.toLowerCase() : idFor(documentId);
}

/** The point that keeps a document. Throws an InvalidArgumentError where JSON cannot hold the metadata. */
export function toPoint(
  { id: documentId, pageContent, metadata }: DocumentInterface & { readonly id: string },
  vector: readonly number[],
): NewPoint {
  const id = pointIdOf(documentId);
  const given: unknown = metadata ?? {};
  if (!isPlain(given)) throw wrong('metadata', given, 'a plain object');
  const members = Object.entries(jsonOf('metadata', given) as object);
  const kept = members.filter(isKept) as [string, MetadataValue][];
  const rest = members.filter((member) => !isKept(member));
  if (rest.length > 0) kept.push([REST_KEY, JSON.stringify(Object.fromEntries(rest))]);
  if (id !== documentId) kept.push([ID_KEY, documentId]);
  return {
    id,
    vector,
    content: pageContent,
    metadata: kept.length > 0 ? Object.fromEntries(kept) : null,
  };
}

/** The document of a point that was read with its content and metadata. */
export function toDocument({ id, content = '', metadata }: Point): Document {
  const { [ID_KEY]: documentId, [REST_KEY]: rest, ...kept }: Metadata = metadata ?? {};
  return new Document({
    id: typeof documentId === 'string' ? documentId : id,
    pageContent: content,
    metadata: { ...kept, ...restOf(rest) },
  });
}

/** What `toPoint` has kept as JSON text; nothing of what it has not written. */
function restOf(text: unknown): object {
  if (typeof text !== 'string') return {};
  try {
    const rest: unknown = JSON.parse(text);
    return isPlain(rest) ? rest : {};
  } catch {
    return {};
  }
}

/** Whether the service takes a member of metadata as it is. */
function isKept([key, value]: [string, unknown]): boolean {
  return isKey(key) && isValue(value);
}

function isKey(key: string): boolean {
  return !key.startsWith('$') && key.isWellFormed() && key !== ID_KEY && key !== REST_KEY;
}

function isValue(value: unknown): boolean {
  if (value === null || kindOf(value) !== undefined) return true;
  if (!Array.isArray(value)) return false;
  const kinds = new Set(value.map(kindOf));
  return kinds.size <= 1 && !kinds.has(undefined);
}

/** The kind of a scalar, which all items of an array have; undefined for what is no scalar. */
function kindOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? 'string' : undefined;
  return typeof value === 'number' || typeof value === 'boolean' ? typeof value : undefined;
}
