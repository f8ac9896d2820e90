import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { Changed, Got, ScrollPage } from '../../../core/points-service.js';
import {
  POINT_ID_BYTES,
  POINT_ID_LENGTH,
  writePointId,
  type PointIds,
} from '../../../core/point-id.js';
import type { Found, Upserted } from '../../../core/records.js';
import { tagOf, WireType } from '../wire-reader.js';
import { PointsMessage, type MessagePart } from './points-message.js';
import { PointList } from './write-points.js';

/** An UpsertResponse or an UpsertStreamResponse. */
export function writeUpserted({ ids, stored, replaced, kept }: Upserted & { ids: PointIds }) {
  const counts = new BinaryWriter();
  for (const [index, count] of [stored, replaced, kept].entries()) {
    if (count > 0) counts.uint32(tagOf(index + 2, WireType.Varint)).uint64(count);
  }
  return new PointsMessage([idTexts(1, ids), counts.finish()]);
}

/** An UpdateResponse or a DeleteResponse. */
export function writeChanged({ count, missing }: Changed): PointsMessage {
  const writer = new BinaryWriter();
  if (count > 0) writer.uint32(tagOf(1, WireType.Varint)).uint64(count);
  return new PointsMessage([writer.finish(), idTexts(2, missing)]);
}

/** A GetResponse. */
export function writeGot({ records, missing, include }: Got & { include: number }): PointsMessage {
  const count = records.ids.length / POINT_ID_BYTES;
  return new PointsMessage([new PointList(records, 0, count, include), idTexts(2, missing)]);
}

/** A ScrollResponse or a ScrollStreamResponse. */
export function writePage({
  records,
  next = '',
  include,
}: ScrollPage & { include: number }): PointsMessage {
  const count = records.ids.length / POINT_ID_BYTES;
  const writer = new BinaryWriter();
  if (next !== '') writer.uint32(tagOf(2, WireType.LengthDelimited)).string(next);
  return new PointsMessage([new PointList(records, 0, count, include), writer.finish()]);
}

/** A SearchResponse: the neighbours of each query, with what it includes. */
export function writeFound({
  found: { counts, distances, records },
  includes,
}: {
  readonly found: Found;
  readonly includes: Uint8Array;
}): PointsMessage {
  let start = 0;
  const parts = Array.from(counts, (count, index): MessagePart[] => {
    const points = new PointList(records, start, start + count, includes[index] ?? 0, distances);
    start += count;
    const head = new BinaryWriter().uint32(tagOf(1, WireType.LengthDelimited));
    return [head.uint32(points.byteLength).finish(), points];
  });
  return new PointsMessage(parts.flat());
}

/** Ids as texts in a repeated field. */
function idTexts(field: number, ids: PointIds): Uint8Array {
  const count = ids.length / POINT_ID_BYTES;
  const bytes = Buffer.allocUnsafe(count * (POINT_ID_LENGTH + 2));
  let end = 0;
  for (let at = 0; at < ids.length; at += POINT_ID_BYTES) {
    bytes[end++] = tagOf(field, WireType.LengthDelimited);
    bytes[end++] = POINT_ID_LENGTH;
    end = writePointId(bytes, end, ids, at);
  }
  return bytes;
}
