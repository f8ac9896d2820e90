import {
  POINT_ID_BYTES,
  POINT_ID_LENGTH,
  writePointId,
  type PointIds,
} from '../../core/point-id.js';

/** Up to this many ids are written at once, which takes a few milliseconds. */
const MAX_IDS_AT_ONCE = 64 * 1024;
const IDS_PER_CHUNK = 16 * 1024;

/** An id's text, its two quotes and a comma. */
const ID_TEXT_BYTES = POINT_ID_LENGTH + 3;
/** The most that is written between two ids without another look at the room that is left. */
const SLACK_BYTES = 8;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN = 0x5b;
const CLOSE = 0x5d;

/** A JSON text that is too long to be written at once. */
export interface LargeJson {
  readonly length: number;
  /** The bytes that it is written from. */
  readonly sourceBytes: number;
  /** The text, each chunk written when it is asked for. */
  readonly chunks: Iterable<Buffer>;
}

/** An object with one field, a list of ids. */
export function writeIds(field: string, ids: PointIds): Buffer | LargeJson {
  return write(`{"${field}":`, [ids], '}');
}

/** An object with one field, a list of lists of ids. */
export function writeIdLists(field: string, lists: readonly PointIds[]): Buffer | LargeJson {
  return write(`{"${field}":[`, lists, ']}');
}

function write(start: string, lists: readonly PointIds[], end: string): Buffer | LargeJson {
  const commas = Math.max(0, lists.length - 1);
  const brackets = start.length + end.length;
  const length = lists.reduce((sum, ids) => sum + listLength(ids), brackets + commas);
  const sourceBytes = lists.reduce((sum, ids) => sum + ids.length, 0);
  if (length <= MAX_IDS_AT_ONCE * ID_TEXT_BYTES) {
    const [whole = Buffer.alloc(0)] = writeChunks(start, lists, end, length + SLACK_BYTES);
    return whole;
  }
  const chunkBytes = IDS_PER_CHUNK * ID_TEXT_BYTES;
  return { length, sourceBytes, chunks: writeChunks(start, lists, end, chunkBytes) };
}

/** Two brackets, and for each id its text, two quotes and, but for one, a comma. */
function listLength(ids: PointIds): number {
  const count = ids.length / POINT_ID_BYTES;
  return 2 + count * (POINT_ID_LENGTH + 2) + Math.max(0, count - 1);
}

function* writeChunks(
  start: string,
  lists: readonly PointIds[],
  end: string,
  chunkBytes: number,
): Generator<Buffer> {
  let chunk = Buffer.allocUnsafe(chunkBytes);
  let length = chunk.write(start, 'latin1');
  for (const [index, ids] of lists.entries()) {
    if (index > 0) chunk[length++] = COMMA;
    chunk[length++] = OPEN;
    let from = 0;
    while (from < ids.length) {
      const room = Math.max(0, Math.floor((chunkBytes - SLACK_BYTES - length) / ID_TEXT_BYTES));
      const to = Math.min(ids.length, from + room * POINT_ID_BYTES);
      length = writeSome(chunk, length, ids, from, to);
      from = to;
      if (from === ids.length) break;
      yield chunk.subarray(0, length);
      chunk = Buffer.allocUnsafe(chunkBytes);
      length = 0;
    }
    chunk[length++] = CLOSE;
    if (chunkBytes - length < SLACK_BYTES) {
      yield chunk.subarray(0, length);
      chunk = Buffer.allocUnsafe(chunkBytes);
      length = 0;
    }
  }
  length += chunk.write(end, length, 'latin1');
  yield chunk.subarray(0, length);
}

/** The ids of a list from one offset up to another. */
function writeSome(
  target: Buffer,
  offset: number,
  ids: PointIds,
  from: number,
  to: number,
): number {
  let end = offset;
  for (let at = from; at < to; at += POINT_ID_BYTES) {
    if (at > 0) target[end++] = COMMA;
    target[end++] = QUOTE;
    end = writePointId(target, end, ids, at);
    target[end++] = QUOTE;
  }
  return end;
}
