import { BinaryReader } from '@bufbuild/protobuf/wire';
import { floatsOf } from '../float-bytes.js';
import { metadataOf } from '../metadata.js';
import type { Got, Page, Point, SearchPart } from '../model.js';
import { toContentType } from './enums.js';

/*
 * Answers that hold points, read without the generated code, which makes an array of numbers of each
 * vector. Cases are the fields of points.proto; those of a later version are passed over.
 */

/** Reads a GetResponse. */
export function readGot(bytes: Uint8Array, include: readonly SearchPart[]): Got {
  const points: Point[] = [];
  const missing: string[] = [];
  readFields(new BinaryReader(bytes), bytes.length, (reader, field) => {
    if (field === 1) points.push(readPoint(reader, include));
    else if (field === 2) missing.push(reader.string());
    else return false;
    return true;
  });
  return { points, missing };
}

/** Reads a ScrollResponse or a ScrollStreamResponse. */
export function readPage(bytes: Uint8Array, include: readonly SearchPart[]): Page {
  const points: Point[] = [];
  let next = '';
  readFields(new BinaryReader(bytes), bytes.length, (reader, field) => {
    if (field === 1) points.push(readPoint(reader, include));
    else if (field === 2) next = reader.string();
    else return false;
    return true;
  });
  return { points, next: next === '' ? null : next };
}

/** Reads a SearchResponse, of which each query has its own include. */
export function readFound(
  bytes: Uint8Array,
  includes: readonly (readonly SearchPart[])[],
): Point[][] {
  const results: Point[][] = [];
  readFields(new BinaryReader(bytes), bytes.length, (reader, field) => {
    if (field !== 1) return false;
    results.push(readNeighbours(reader, includes[results.length] ?? []));
    return true;
  });
  return results;
}

function readNeighbours(outer: BinaryReader, include: readonly SearchPart[]): Point[] {
  const points: Point[] = [];
  readFields(outer, endOf(outer), (reader, field) => {
    if (field !== 1) return false;
    points.push(readPoint(reader, include));
    return true;
  });
  return points;
}

function readPoint(outer: BinaryReader, include: readonly SearchPart[]): Point {
  const point: { -readonly [Part in keyof Point]: Point[Part] } = { id: '' };
  let metadata: string | undefined;
  readFields(outer, endOf(outer), (reader, field) => {
    if (field === 1) point.id = reader.string();
    else if (field === 2) point.vector = floatsOf(reader.bytes());
    else if (field === 3) point.content = reader.string();
    else if (field === 4) point.contentType = toContentType(reader.int32());
    else if (field === 5) metadata = reader.string();
    else if (field === 6) point.distance = reader.double();
    else return false;
    return true;
  });
  // A point without metadata has no field for them.
  if (include.includes('metadata')) point.metadata = metadataOf(metadata);
  return point;
}

/** Where the message ends whose length comes next. */
function endOf(reader: BinaryReader): number {
  const length = reader.uint32();
  return reader.pos + length;
}

/** Reads fields up to `end`; `read` answers whether it knows one. */
function readFields(
  reader: BinaryReader,
  end: number,
  read: (reader: BinaryReader, field: number) => boolean,
): void {
  while (reader.pos < end) {
    const [field, wireType] = reader.tag();
    if (!read(reader, field)) reader.skip(wireType, field);
  }
}
