import { ServerError, Status } from 'nice-grpc-common';

/** Bytes before each message: whether it is compressed, and its length. */
export const PREFIX_BYTES = 5;

/** What a message gets at first that comes in several chunks; it grows as they come. */
const FIRST_BYTES = 64 * 1024;

export interface MessageLimit {
  /** The most bytes of a message, compressed and decompressed. */
  readonly maxBytes: number;
  /** The setting that says so, for the message of a refusal. */
  readonly setting: string;
}

/** A message as it came. */
export interface RawMessage {
  readonly isCompressed: boolean;
  readonly bytes: Buffer;
}

/** Cuts the bytes of a stream into messages. */
export class MessageReader {
  /** What has come of the message, its prefix included, in the first bytes of the buffer. */
  #buffer = Buffer.alloc(0);
  #length = 0;

  constructor(
    private readonly limit: MessageLimit,
    private readonly onMessage: (message: RawMessage) => void,
  ) {}

  /** Whether a message has begun that is not complete. */
  get isWithin(): boolean {
    return this.#length > 0;
  }

  /** Takes a chunk, and calls back for each message that it completes. */
  read(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      const taken = this.isWithin ? this.#append(rest) : this.#takeWhole(rest);
      rest = rest.subarray(taken);
    }
  }

  /** A message that is whole in its chunk is not copied. */
  #takeWhole(chunk: Buffer): number {
    const length = chunk.length < PREFIX_BYTES ? undefined : this.#checkPrefix(chunk);
    if (length === undefined || chunk.length < length) return this.#append(chunk);
    this.#emit(chunk.subarray(0, length));
    return length;
  }

  /** Copies what belongs to the message that has begun; answers how many bytes that were. */
  #append(chunk: Buffer): number {
    const prefixRest = PREFIX_BYTES - this.#length;
    if (prefixRest > 0) return this.#copy(chunk, prefixRest, PREFIX_BYTES);
    const length = this.#checkPrefix(this.#buffer);
    const taken = this.#copy(chunk, length - this.#length, length);
    if (this.#length === length) this.#end();
    return taken;
  }

  /** Copies up to `most` bytes into a buffer that will have to hold `wanted`. */
  #copy(chunk: Buffer, most: number, wanted: number): number {
    const count = Math.min(chunk.length, most);
    const needed = this.#length + count;
    if (needed > this.#buffer.length) {
      // Memory is taken as bytes come: a length that is only announced takes none.
      const doubled = Math.max(needed, 2 * this.#buffer.length, FIRST_BYTES);
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(doubled, wanted)));
      grown.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = grown;
    }
    this.#buffer.set(chunk.subarray(0, count), this.#length);
    this.#length = needed;
    if (needed === PREFIX_BYTES && this.#checkPrefix(this.#buffer) === needed) this.#end();
    return count;
  }

  #end(): void {
    const message = this.#buffer.subarray(0, this.#length);
    this.#buffer = Buffer.alloc(0);
    this.#length = 0;
    this.#emit(message);
  }

  #emit(message: Buffer): void {
    this.onMessage({ isCompressed: message[0] === 1, bytes: message.subarray(PREFIX_BYTES) });
  }

  /** The bytes of the message that begins here, its prefix included. */
  #checkPrefix(message: Buffer): number {
    const flag = message[0] ?? 0;
    if (flag > 1) throw new ServerError(Status.INVALID_ARGUMENT, `a message has the flag ${flag}`);
    const length = message.readUInt32BE(1);
    if (length > this.limit.maxBytes) throw tooLarge(length, this.limit);
    return PREFIX_BYTES + length;
  }
}

export function tooLarge(found: number, { maxBytes, setting }: MessageLimit): ServerError {
  const text = `the message has ${found} bytes, at most ${maxBytes} are allowed (${setting})`;
  return new ServerError(Status.RESOURCE_EXHAUSTED, text);
}

/** A message that is too large to be made at once. */
export interface ChunkedMessage {
  readonly byteLength: number;
  /** The message behind `head`, written into memory that `take` gives for so many bytes. */
  chunks(head: Uint8Array, take: (bytes: number) => Buffer): Iterable<Uint8Array>;
}

export function isChunked(message: object): message is ChunkedMessage {
  return 'chunks' in message;
}

/** A message with its prefix. */
export function frame(message: Uint8Array, isCompressed = false): Buffer {
  const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  framed.set(message, PREFIX_BYTES);
  return writePrefix(framed, isCompressed);
}

/** Writes the prefix of a message into the bytes that are left free before it. */
export function writePrefix(framed: Buffer, isCompressed = false): Buffer {
  framed[0] = Number(isCompressed);
  framed.writeUInt32BE(framed.length - PREFIX_BYTES, 1);
  return framed;
}

/** The prefix of a message of this length. */
export function framePrefix(length: number): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(length, 1);
  return prefix;
}
