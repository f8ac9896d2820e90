import { promisify } from 'node:util';
import { deflate, gunzip, gzip, inflate } from 'node:zlib';
import { ServerError, Status } from 'nice-grpc';

/** Bytes before each message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5;

/** Shorter answers are not compressed: they would hardly get smaller. */
const LEAST_COMPRESSED_BYTES = 1_024;

/** The encodings, by their names in `grpc-encoding`. */
const ENCODINGS = {
  gzip: { decode: promisify(gunzip), encode: promisify(gzip) },
  deflate: { decode: promisify(inflate), encode: promisify(deflate) },
} as const;

export type Encoding = keyof typeof ENCODINGS;

/** For `grpc-accept-encoding`. */
export const ACCEPTED_ENCODINGS = ['identity', ...Object.keys(ENCODINGS)].join(',');

export function isEncoding(name: string): name is Encoding {
  return Object.hasOwn(ENCODINGS, name);
}

/** A message as it came. */
export interface RawMessage {
  readonly isCompressed: boolean;
  readonly bytes: Buffer;
}

/** Cuts the bytes of a stream into messages. */
export class MessageReader {
  #chunks: Buffer[] = [];
  #length = 0;
  /** Bytes that the message at the start takes, its prefix included; 0 where that is not known. */
  #wanted = 0;

  constructor(private readonly maxBytes: number) {}

  /** Whether a message has begun that is not complete. */
  get isWithin(): boolean {
    return this.#length > 0;
  }

  /** Takes bytes, and calls back for each message that they complete. */
  read(chunk: Buffer, onMessage: (message: RawMessage) => void): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    for (;;) {
      if (this.#wanted === 0) {
        if (this.#length < PREFIX_BYTES) return;
        this.#wanted = PREFIX_BYTES + this.#messageBytes();
      }
      if (this.#length < this.#wanted) return;
      const bytes = this.#join();
      const end = this.#wanted;
      const rest = bytes.subarray(end);
      this.#chunks = rest.length > 0 ? [rest] : [];
      this.#length = rest.length;
      this.#wanted = 0;
      onMessage({ isCompressed: bytes[0] === 1, bytes: bytes.subarray(PREFIX_BYTES, end) });
    }
  }

  #messageBytes(): number {
    const prefix = this.#join();
    const flag = prefix[0] ?? 0;
    if (flag > 1) throw new ServerError(Status.INVALID_ARGUMENT, `a message has the flag ${flag}`);
    const length = prefix.readUInt32BE(1);
    if (length > this.maxBytes) throw tooLarge(length, this.maxBytes);
    return length;
  }

  #join(): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && this.#chunks.length === 1) return first;
    const joined = Buffer.concat(this.#chunks, this.#length);
    this.#chunks = [joined];
    return joined;
  }
}

/** The bytes of a compressed message, `maxBytes` at most. */
export async function decompress(
  bytes: Buffer,
  encoding: string | undefined,
  maxBytes: number,
): Promise<Buffer> {
  if (encoding === undefined || !isEncoding(encoding)) {
    const text = `a compressed message without a known grpc-encoding (${ACCEPTED_ENCODINGS})`;
    throw new ServerError(Status.INVALID_ARGUMENT, text);
  }
  try {
    return await ENCODINGS[encoding].decode(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    if (isTooLarge(error)) throw tooLarge(undefined, maxBytes);
    throw new ServerError(Status.INVALID_ARGUMENT, `a message is no ${encoding} data`);
  }
}

/** A message with its prefix. */
export function frame(message: Uint8Array, isCompressed = false): Buffer {
  const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  framed[0] = Number(isCompressed);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, PREFIX_BYTES);
  return framed;
}

/** The same, compressed where that pays. */
export async function compressedFrame(message: Uint8Array, encoding: Encoding): Promise<Buffer> {
  if (message.length < LEAST_COMPRESSED_BYTES) return frame(message);
  return frame(await ENCODINGS[encoding].encode(message), true);
}

function tooLarge(found: number | undefined, most: number): ServerError {
  const has = found === undefined ? 'more bytes decompressed' : `${found} bytes`;
  return new ServerError(
    Status.RESOURCE_EXHAUSTED,
    `a message has ${has}, at most ${most} are allowed`,
  );
}

function isTooLarge(error: unknown): boolean {
  return error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}
