import { EXPECTED_ID } from '../../../core/advice.js';
import { invalid } from '../../../core/errors.js';
import { isNilAt, parsePointId, POINT_ID_BYTES, type PointId } from '../../../core/point-id.js';
import type { ByteArena } from '../byte-arena.js';
import type { WireReader } from '../wire-reader.js';
import { quote } from '../quote.js';

/** The id that a text field holds, whose name is `field`. */
export function readId(reader: WireReader, field: string): PointId {
  const text = reader.string();
  const id = parsePointId(text);
  if (id !== undefined && !isNilAt(id, 0)) return id;
  throw invalid(`${field} is ${quote(text)}, expected ${EXPECTED_ID}`);
}

/** Appends the next of several ids. */
export function readIdItem(reader: WireReader, ids: ByteArena): void {
  ids.append(readId(reader, `ids[${ids.length / POINT_ID_BYTES}]`));
}
