import { setImmediate } from 'node:timers/promises';
import { POINT_ID_BYTES, type PointIds } from '../../core/point-id.js';
import { encodedLength, listPrefix, writeSomeIds } from './write-ids.js';

/** Up to this many ids are encoded at once, which takes a few milliseconds. */
const MAX_IDS_AT_ONCE = 64 * 1024;
const PIECE_BYTES = 16 * 1024 * POINT_ID_BYTES;

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

/** A message of very many ids, which is encoded while other calls have their turn. */
export class LargeIds {
  readonly byteLength: number;
  #encoded: Buffer | undefined;

  constructor(
    private readonly prefixes: readonly Uint8Array[],
    private readonly lists: readonly PointIds[],
  ) {
    const prefixBytes = prefixes.reduce((sum, prefix) => sum + prefix.length, 0);
    this.byteLength = lists.reduce((sum, ids) => sum + encodedLength(ids), prefixBytes);
  }

  /** Encodes the message, unless `isWanted` says between two pieces that nobody waits for it. */
  async encode(isWanted: () => boolean): Promise<void> {
    const target = Buffer.allocUnsafe(this.byteLength);
    let length = 0;
    let sinceBreath = 0;
    for (const [index, ids] of this.lists.entries()) {
      const prefix = this.prefixes[index] ?? new Uint8Array();
      target.set(prefix, length);
      length += prefix.length;
      for (let from = 0; from < ids.length; from += PIECE_BYTES) {
        const piece = ids.subarray(from, from + PIECE_BYTES);
        length = writeSomeIds(target, length, piece);
        sinceBreath += piece.length;
        if (sinceBreath < PIECE_BYTES) continue;
        sinceBreath = 0;
        // oxlint-disable-next-line no-await-in-loop -- the wait is what the loop is for
        await setImmediate();
        if (!isWanted()) return;
      }
    }
    this.#encoded = target;
  }

  /** The message, in the shape in which a codec gives it. */
  finish(): Uint8Array {
    if (this.#encoded === undefined) throw new Error('the message has not been encoded');
    return this.#encoded;
  }
}
