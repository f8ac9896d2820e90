import { BinaryWriter } from '@bufbuild/protobuf/wire';
import {
  POINT_ID_BYTES,
  POINT_ID_LENGTH,
  writePointId,
  type PointIds,
} from '../../core/point-id.js';
import { WireType, tagOf } from './wire-reader.js';

const ITEM = tagOf(1, WireType.LengthDelimited);

/** What stands before the text of each id: PointID in field 1, in it UUID, in it the string. */
const ID_PREFIX = Buffer.from(
  [POINT_ID_LENGTH + 4, POINT_ID_LENGTH + 2, POINT_ID_LENGTH].flatMap((length) => [ITEM, length]),
);
const ID_BYTES = ID_PREFIX.length + POINT_ID_LENGTH;

/** A message that is encoded already, in the shape in which generated code gives one. */
interface Encoded {
  finish(): Uint8Array;
}

/**
 * A list of ids in field 1: a SearchResponse or an InsertVectorsBatchResponse. All ids have one
 * length, so the message is the same few bytes before each: a third of the generated code's time.
 */
export function writeIds(ids: PointIds): Encoded {
  const bytes = idBytes(ids);
  return { finish: () => bytes };
}

/** A SearchPointsBatchResponse: one list of ids per query. */
export function writeIdLists(lists: readonly PointIds[]): BinaryWriter {
  const writer = new BinaryWriter();
  for (const ids of lists) writer.uint32(ITEM).bytes(idBytes(ids));
  return writer;
}

/** What stands before the ids of one list among several. */
export function listPrefix(ids: PointIds): Uint8Array {
  return new BinaryWriter().uint32(ITEM).uint32(encodedLength(ids)).finish();
}

/** The bytes that a list of ids takes as a message. */
export function encodedLength(ids: PointIds): number {
  return (ids.length / POINT_ID_BYTES) * ID_BYTES;
}

/** Writes a part of a list to `target`; returns the offset behind it. */
export function writeSomeIds(target: Buffer, offset: number, ids: PointIds): number {
  let end = offset;
  for (let at = 0; at < ids.length; at += POINT_ID_BYTES) {
    end += ID_PREFIX.copy(target, end);
    end = writePointId(target, end, ids, at);
  }
  return end;
}

function idBytes(ids: PointIds): Uint8Array {
  const bytes = Buffer.allocUnsafe(encodedLength(ids));
  writeSomeIds(bytes, 0, ids);
  return bytes;
}
