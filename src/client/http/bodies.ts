import { bytesOf } from '../float-bytes.js';
import type { CheckedFilter } from '../filter.js';
import { jsonText } from '../json-text.js';
import type { SearchPart } from '../model.js';
import type { EncodedPoint, FullPoint, FullQuery, FullScroll, FullUpdate } from '../transport.js';
import { toBase64 } from './base64.js';

const utf8 = new TextEncoder();

const COMMA = utf8.encode(',');

/** A point as one item of an upsert. */
export function encodePoint({
  id,
  vector,
  content,
  contentType,
  metadata,
}: FullPoint): EncodedPoint {
  const json =
    `{"id":${JSON.stringify(id)},"vector":"${toBase64(bytesOf(vector))}"` +
    `,"content":${JSON.stringify(content)},"content_type":"${contentType}"` +
    `${metadata === undefined ? '' : `,"metadata":${metadata}`}}`;
  return { id, bytes: utf8.encode(json) };
}

export function upsertBody(
  points: readonly EncodedPoint[],
  ifAbsent: boolean,
): Uint8Array<ArrayBuffer> {
  const parts = points.flatMap(({ bytes }, at) => (at === 0 ? [bytes] : [COMMA, bytes]));
  return joined([utf8.encode('{"points":['), ...parts, utf8.encode(`],"if_absent":${ifAbsent}}`)]);
}

export function getBody(ids: readonly string[], include: readonly SearchPart[]): string {
  return JSON.stringify({ ids, ...answerForm(include) });
}

export function searchBody(query: FullQuery): string {
  return jsonText({ ...jsonQuery(query), vector_format: 'base64' });
}

export function searchAllBody(queries: readonly FullQuery[]): string {
  return jsonText({ queries: queries.map(jsonQuery), vector_format: 'base64' });
}

export function scrollBody({ include, filter, ...scroll }: FullScroll, limit: number): string {
  return jsonText({ ...scroll, filter: filter?.given, limit, ...answerForm(include) });
}

/** What counts or deletes the points that pass. */
export function filterBody(filter: CheckedFilter | undefined): string {
  return jsonText({ filter: filter?.given });
}

export function updateBody(updates: readonly FullUpdate[]): string {
  const items = updates.map(({ id, content, contentType, metadata }) => {
    // Metadata are JSON already.
    const rest = metadata === undefined ? '' : `,"metadata":${metadata ?? 'null'}`;
    const json = JSON.stringify({ id, content, content_type: contentType });
    return `${json.slice(0, -1)}${rest}}`;
  });
  return `{"points":[${items.join(',')}]}`;
}

function jsonQuery({ vector, maxDistance, filter, include, ...query }: FullQuery): object {
  return {
    ...query,
    vector: vector === undefined ? undefined : toBase64(bytesOf(vector)),
    max_distance: maxDistance,
    filter: filter?.given,
    include: names(include),
  };
}

function answerForm(include: readonly SearchPart[]): object {
  return { include: names(include), vector_format: 'base64' };
}

function names(include: readonly SearchPart[]): string[] {
  return include.map((part) => (part === 'contentType' ? 'content_type' : part));
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    bytes.set(part, end);
    end += part.length;
  }
  return bytes;
}
