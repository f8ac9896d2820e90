import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip, createInflate, deflate, gzip } from 'node:zlib';
import { ServerError, Status } from 'nice-grpc-common';
import { frame, type MessageLimit } from './messages.js';

/** Shorter answers are not compressed: they would hardly get smaller. */
const LEAST_COMPRESSED_BYTES = 1_024;

/** The encodings, by their names in `grpc-encoding`. */
const ENCODINGS = {
  gzip: { decoder: (): Transform => createGunzip(), encode: promisify(gzip) },
  deflate: { decoder: (): Transform => createInflate(), encode: promisify(deflate) },
} as const;

export type Encoding = keyof typeof ENCODINGS;

/** For `grpc-accept-encoding`. */
export const ACCEPTED_ENCODINGS = ['identity', ...Object.keys(ENCODINGS)].join(',');

export function isEncoding(name: string): name is Encoding {
  return Object.hasOwn(ENCODINGS, name);
}

/** The message in `bytes`; `take` hears of the bytes of each chunk of it, and may throw. */
export async function decompress(
  bytes: Buffer,
  encoding: string | undefined,
  limit: MessageLimit,
  take: (bytes: number) => void,
): Promise<Buffer> {
  if (encoding === undefined || !isEncoding(encoding)) {
    const text = `a compressed message without a known grpc-encoding (${ACCEPTED_ENCODINGS})`;
    throw new ServerError(Status.INVALID_ARGUMENT, text);
  }
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    const decoder = ENCODINGS[encoding].decoder().end(bytes) as AsyncIterable<Buffer>;
    for await (const chunk of decoder) {
      length += chunk.length;
      if (length > limit.maxBytes) throw unpacksTooLarge(limit);
      take(chunk.length);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof ServerError) throw error;
    throw new ServerError(Status.INVALID_ARGUMENT, `the message is not valid ${encoding}`);
  }
  return Buffer.concat(chunks, length);
}

/** A message with its prefix, compressed where that pays. */
export async function compress(message: Uint8Array, encoding: Encoding): Promise<Buffer> {
  if (message.length < LEAST_COMPRESSED_BYTES) return frame(message);
  return frame(await ENCODINGS[encoding].encode(message), true);
}

function unpacksTooLarge({ maxBytes, setting }: MessageLimit): ServerError {
  const text = `the message unpacks to more than ${maxBytes} bytes (${setting})`;
  return new ServerError(Status.RESOURCE_EXHAUSTED, text);
}
