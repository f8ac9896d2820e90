import { POINT_ID_BYTES, type PointIds } from '../../core/point-id.js';
import { encodedLength, listPrefix, writeSomeIds } from './write-ids.js';

/** Up to this many ids are encoded at once, which takes a few milliseconds. */
const MAX_IDS_AT_ONCE = 64 * 1024;
const ENCODED_ID_BYTES = encodedLength(new Uint8Array(POINT_ID_BYTES));
const CHUNK_BYTES = 16 * 1024 * ENCODED_ID_BYTES;

/** Ids that take too long to be encoded at once; the rest is left to their codec. */
export function idsAnswer(ids: PointIds): PointIds | LargeIds {
  return isLarge(ids.length) ? new LargeIds([new Uint8Array()], [ids]) : ids;
}

/** The same for one list of ids per query. */
export function idListsAnswer(lists: readonly PointIds[]): readonly PointIds[] | LargeIds {
  const bytes = lists.reduce((sum, ids) => sum + ids.length, 0);
  return isLarge(bytes) ? new LargeIds(lists.map(listPrefix), lists) : lists;
}

function isLarge(bytes: number): boolean {
  return bytes > MAX_IDS_AT_ONCE * POINT_ID_BYTES;
}

/** A message of very many ids, of which each chunk is encoded when it can be sent. */
export class LargeIds {
  readonly byteLength: number;

  constructor(
    private readonly prefixes: readonly Uint8Array[],
    private readonly lists: readonly PointIds[],
  ) {
    const prefixBytes = prefixes.reduce((sum, prefix) => sum + prefix.length, 0);
    this.byteLength = lists.reduce((sum, ids) => sum + encodedLength(ids), prefixBytes);
  }

  *chunks(head: Uint8Array, take: (bytes: number) => Buffer): Generator<Uint8Array> {
    let chunk = take(CHUNK_BYTES);
    chunk.set(head);
    let { length } = head;
    for (const [index, ids] of this.lists.entries()) {
      const prefix = this.prefixes[index] ?? new Uint8Array();
      for (let from = 0; from < ids.length || from === 0;) {
        const isFull = chunk.length - length < prefix.length + ENCODED_ID_BYTES;
        if (isFull) {
          yield chunk.subarray(0, length);
          chunk = take(CHUNK_BYTES);
          length = 0;
        }
        if (from === 0) {
          chunk.set(prefix, length);
          length += prefix.length;
        }
        const most = Math.floor((chunk.length - length) / ENCODED_ID_BYTES) * POINT_ID_BYTES;
        const some = ids.subarray(from, from + most);
        length = writeSomeIds(chunk, length, some);
        from += most;
      }
    }
    yield chunk.subarray(0, length);
  }

  /** The whole message, in the shape in which a codec gives it. */
  finish(): Uint8Array {
    const chunks = this.chunks(new Uint8Array(), (bytes) => Buffer.allocUnsafe(bytes));
    return Buffer.concat([...chunks], this.byteLength);
  }
}
