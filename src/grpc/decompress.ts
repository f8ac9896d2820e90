import type { Transform } from 'node:stream';
import { createGunzip, createInflate } from 'node:zlib';
import { VectordError, invalid } from '../core/errors.js';
import { messageOf } from '../core/start-error.js';

const DECODERS = { gzip: createGunzip, deflate: createInflate } as const satisfies Record<
  string,
  () => Transform
>;

export type Compression = keyof typeof DECODERS;

export function isCompression(encoding: string): encoding is Compression {
  return Object.hasOwn(DECODERS, encoding);
}

/** The message in `bytes`; `take` hears of each piece of it and may throw to end this. */
export async function decompress(
  bytes: Buffer,
  encoding: Compression,
  maxBytes: number,
  take: (bytes: number) => void,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of DECODERS[encoding]().end(bytes) as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > maxBytes) {
        throw new VectordError(
          'TOO_LARGE',
          `the message unpacks to more than ${maxBytes} bytes (MAX_REQUEST_BYTES)`,
        );
      }
      take(piece.length);
      pieces.push(piece);
    }
  } catch (error) {
    if (error instanceof VectordError) throw error;
    throw invalid(`the message is not valid ${encoding}: ${messageOf(error)}`);
  }
  return Buffer.concat(pieces, length);
}
