/** Pieces of this many bytes are worth a buffer of their own. */
const LARGE_BYTES = 16 * 1024;
/** So many are kept as they came, whatever their sizes: most requests have fewer. */
const LOOSE_PIECES = 16;

/**
 * Joins small pieces at the end of a list. Each buffer takes a hundred bytes besides its own: a
 * client that sends its request byte by byte would have it take that many times its size. Pieces
 * of about the same size are joined, so that a byte is copied a few times at most.
 */
export function joinSmall(pieces: Buffer[]): void {
  while (pieces.length > LOOSE_PIECES) {
    const last = pieces.at(-1);
    const before = pieces.at(-2);
    if (last === undefined || before === undefined) return;
    if (before.length >= LARGE_BYTES || before.length > 2 * last.length) return;
    pieces.splice(-2, 2, Buffer.concat([before, last]));
  }
}
