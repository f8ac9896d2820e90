import type { IncomingMessage } from 'node:http';
import { closeConnection } from './connections.js';

/**
 * In how many pieces a body may come, and how large they are to be on average beyond that. Each
 * costs some microseconds, whatever is in it: chunks of a byte keep the loop from everyone else,
 * key or not. A client that writes every number by itself stays below that for some ten vectors.
 */
const MAX_PIECES = 10_000;
const LEAST_PIECE_BYTES = 64;
/** Pieces after which others have their turn. */
const PIECES_AT_ONCE = 1_000;

/** Closes the connection of a request whose body comes in too many pieces. */
export function boundPieces(request: IncomingMessage): void {
  const { socket } = request;
  let pieces = 0;
  let bytes = 0;
  const onPiece = (piece: Buffer): void => {
    pieces += 1;
    bytes += piece.length;
    if (pieces > MAX_PIECES + bytes / LEAST_PIECE_BYTES) {
      request.off('data', onPiece);
      closeConnection(socket, 'pieces');
    } else if (pieces % PIECES_AT_ONCE === 0) {
      socket.pause();
      setImmediate(() => socket.resume());
    }
  };
  request.on('data', onPiece);
}
