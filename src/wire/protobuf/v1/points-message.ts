import type { PointList } from './write-points.js';

/** A chunk is full with so many bytes: to write it takes a tenth of a millisecond. */
const CHUNK_BYTES = 256 * 1024;

/** What a message holds: bytes that are there, and points that are still to be written. */
export type MessagePart = Uint8Array | PointList;

/** A message of points, of which each chunk is written when it can be sent. */
export class PointsMessage {
  readonly byteLength: number;

  constructor(private readonly parts: readonly MessagePart[]) {
    this.byteLength = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Whether it takes so long to be written that others are served in between. */
  get isLong(): boolean {
    return this.byteLength > CHUNK_BYTES;
  }

  *chunks(): Generator<Uint8Array> {
    let chunk = Buffer.allocUnsafe(Math.min(this.byteLength, CHUNK_BYTES));
    let length = 0;
    let left = this.byteLength;
    for (const [bytes, write] of this.#items()) {
      if (chunk.length - length < bytes) {
        if (length > 0) yield chunk.subarray(0, length);
        chunk = Buffer.allocUnsafe(Math.max(bytes, Math.min(left, CHUNK_BYTES)));
        length = 0;
      }
      length = write(chunk, length);
      left -= bytes;
    }
    yield chunk.subarray(0, length);
  }

  /** The whole message, in the shape in which a codec gives it. */
  finish(): Uint8Array {
    const chunks = [...this.chunks()];
    const [first] = chunks;
    return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks);
  }

  /** What is written at once: how many bytes, and how. */
  *#items(): Generator<readonly [number, (target: Buffer, offset: number) => number]> {
    for (const one of this.parts) {
      if (one instanceof Uint8Array) {
        yield [
          one.length,
          (target, offset) => {
            target.set(one, offset);
            return offset + one.length;
          },
        ];
        continue;
      }
      for (let at = one.start; at < one.end; at += 1) {
        yield [one.itemLength(at), (target, offset) => one.write(target, offset, at)];
      }
    }
  }
}
