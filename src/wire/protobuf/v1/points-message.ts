import { release } from '../../../engine/release.js';
import type { PointList } from './write-points.js';

/** Up to so much is written at once, which takes a tenth of a millisecond. */
const SHORT_BYTES = 256 * 1024;

/** What a message holds: bytes that are there, and points that are still to be written. */
export type MessagePart = Uint8Array | PointList;

/** Something that is written at once. */
interface Item {
  readonly bytes: number;
  /** Writes it; returns the offset behind it. */
  write(target: Buffer, offset: number): number;
}

/** A message of points, which is written once, each chunk of it when it can be sent. */
export class PointsMessage {
  readonly byteLength: number;

  constructor(private readonly parts: readonly MessagePart[]) {
    this.byteLength = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Whether it takes so long to be written that others are served in between. */
  get isLong(): boolean {
    return this.byteLength > SHORT_BYTES;
  }

  /** The message behind `head`, in chunks as large as the memory that `take` gives. */
  *chunks(head: Uint8Array, take: (bytes: number) => Buffer): Generator<Uint8Array> {
    let left = head.length + this.byteLength;
    let chunk: Buffer | undefined;
    let length = 0;
    for (const item of itemsOf([head, ...this.parts])) {
      if (chunk !== undefined && chunk.length - length < item.bytes) {
        yield chunk.subarray(0, length);
        chunk = undefined;
      }
      if (chunk === undefined) {
        chunk = take(Math.max(item.bytes, Math.min(left, SHORT_BYTES)));
        length = 0;
      }
      length = item.write(chunk, length);
      left -= item.bytes;
    }
    if (chunk !== undefined && length > 0) yield chunk.subarray(0, length);
    this.#release();
  }

  /** Writes the whole message into memory from `take`, behind room for a prefix of so many bytes. */
  finish(behind = 0, take = (bytes: number): Buffer => Buffer.allocUnsafe(bytes)): Buffer {
    const whole = take(behind + this.byteLength);
    let length = behind;
    for (const item of itemsOf(this.parts)) length = item.write(whole, length);
    this.#release();
    return whole.subarray(0, length);
  }

  /** Points are written once. */
  #release(): void {
    for (const part of this.parts) if (!(part instanceof Uint8Array)) release(part.records);
  }
}

function* itemsOf(parts: readonly MessagePart[]): Generator<Item> {
  for (const one of parts) {
    if (one instanceof Uint8Array) yield bytesItem(one);
    else for (let at = one.start; at < one.end; at += 1) yield pointItem(one, at);
  }
}

function bytesItem(bytes: Uint8Array): Item {
  return {
    bytes: bytes.length,
    write(target, offset) {
      target.set(bytes, offset);
      return offset + bytes.length;
    },
  };
}

function pointItem(list: PointList, at: number): Item {
  return {
    bytes: list.itemLength(at),
    write: (target, offset) => list.write(target, offset, at),
  };
}
