import type { Found, Records, Upserted } from '../../core/records.js';
import { formatPointId, POINT_ID_BYTES, type PointIds } from '../../core/point-id.js';
import { DISTANCE, includeOf } from '../../core/include.js';
import { ContentType } from '../../core/model.js';
import { formatVector } from '../../engine/json.js';
import { contentTypeName } from './json.js';

/** Long answers are made and written in chunks of about this many characters. */
const CHUNK_CHARACTERS = 64 * 1024;

/** What an answer says of each point besides its id. */
interface Form {
  /** In bits, as a body names it. */
  readonly include: number;
  readonly base64: boolean;
  readonly distances?: Float64Array;
}

/** An answer with points, in chunks. */
export type JsonChunks = Iterable<Buffer>;

/** `{"results":[...]}`: the neighbours of one query, or a list of those of each. */
export function writeFound(
  { counts, distances, records }: Found,
  { includes, isList, base64 }: { includes: Uint8Array; isList: boolean; base64: boolean },
): JsonChunks {
  return inChunks(function* texts() {
    yield isList ? '{"results":[' : '{"results":';
    let start = 0;
    for (const [index, count] of counts.entries()) {
      if (index > 0) yield ',';
      const form = { include: includes[index] ?? 0, base64, distances };
      yield* list(records, start, start + count, form);
      start += count;
    }
    yield isList ? ']}' : '}';
  });
}

/** `{"points":[...],"missing":[...]}`. */
export function writeGot(records: Records, missing: PointIds, form: Form): JsonChunks {
  return inChunks(function* texts() {
    yield '{"points":';
    yield* list(records, 0, countOf(records.ids), form);
    yield ',"missing":';
    yield* idList(missing);
    yield '}';
  });
}

/** `{"points":[...],"next":"..."}`, where next is null at the end. */
export function writePage(records: Records, next: string | undefined, form: Form): JsonChunks {
  return inChunks(function* texts() {
    yield '{"points":';
    yield* list(records, 0, countOf(records.ids), form);
    yield `,"next":${JSON.stringify(next ?? null)}}`;
  });
}

/** `{"ids":[...],"stored":1,"replaced":0,"kept":0}`. */
export function writeUpserted(ids: PointIds, { stored, replaced, kept }: Upserted): JsonChunks {
  return inChunks(function* texts() {
    yield '{"ids":';
    yield* idList(ids);
    yield `,"stored":${stored},"replaced":${replaced},"kept":${kept}}`;
  });
}

/** `{"updated":1,"missing":[...]}`, or deleted. */
export function writeChanged(
  change: 'updated' | 'deleted',
  { count, missing }: { count: number; missing: PointIds },
): JsonChunks {
  return inChunks(function* texts() {
    yield `{"${change}":${count},"missing":`;
    yield* idList(missing);
    yield '}';
  });
}

/** A JSON array of ids. */
function* idList(ids: PointIds): Generator<string> {
  yield '[';
  for (let at = 0; at < countOf(ids); at += 1) yield `${at > 0 ? ',' : ''}"${idAt(ids, at)}"`;
  yield ']';
}

function countOf(ids: PointIds): number {
  return ids.length / POINT_ID_BYTES;
}

function idAt(ids: PointIds, at: number): string {
  return formatPointId(ids.subarray(at * POINT_ID_BYTES, (at + 1) * POINT_ID_BYTES));
}

/** The points from one place to another, each as an object. */
function* list(records: Records, start: number, end: number, form: Form): Generator<string> {
  const { ids, vectors, contentTypes, contents, contentEnds, metadata, metadataEnds } = records;
  const { include, base64, distances } = form;
  const wants = includeOf(include);
  const dimension = vectors.length / countOf(ids);
  yield '[';
  for (let at = start; at < end; at += 1) {
    let text = `${at > start ? ',' : ''}{"id":"${idAt(ids, at)}"`;
    if ((include & DISTANCE) !== 0) text += `,"distance":${String(distances?.[at])}`;
    if (wants.vector) {
      const vector = vectors.subarray(at * dimension, (at + 1) * dimension);
      text += `,"vector":${base64 ? base64Of(vector) : formatVector(vector)}`;
    }
    if (wants.contentType) {
      const isText = contentTypes[at] === ContentType.Text;
      const name = contentTypeName(isText ? ContentType.Text : ContentType.Image);
      text += `,"content_type":"${name}"`;
    }
    if (wants.content) text += `,"content":${JSON.stringify(partAt(contents, contentEnds, at))}`;
    // It is stored as JSON, and none at all as nothing.
    if (wants.metadata) text += `,"metadata":${partAt(metadata, metadataEnds, at) || 'null'}`;
    yield `${text}}`;
  }
  yield ']';
}

/** The text of one of several parts that lie one after the other. */
function partAt(bytes: Uint8Array, ends: Uint32Array, at: number): string {
  const { buffer, byteOffset, length } = bytes;
  return Buffer.from(buffer, byteOffset, length).toString('utf8', ends[at - 1] ?? 0, ends[at]);
}

function base64Of({ buffer, byteOffset, byteLength }: Float32Array): string {
  return `"${Buffer.from(buffer, byteOffset, byteLength).toString('base64')}"`;
}

function inChunks(texts: () => Iterable<string>): JsonChunks {
  return {
    *[Symbol.iterator]() {
      let chunk = '';
      for (const text of texts()) {
        chunk += text;
        if (chunk.length < CHUNK_CHARACTERS) continue;
        yield Buffer.from(chunk);
        chunk = '';
      }
      if (chunk !== '') yield Buffer.from(chunk);
    },
  };
}
