import { DISTANCE, includeOf } from '../../../core/include.js';
import { POINT_ID_BYTES, POINT_ID_LENGTH, writePointId } from '../../../core/point-id.js';
import type { Include, Records } from '../../../core/records.js';
import { tagOf, WireType } from '../wire-reader.js';
import { fromContentType } from './enums.js';
import { varintLength, writeVarint } from './varint.js';

const POINTS = tagOf(1, WireType.LengthDelimited);

const ID = tagOf(1, WireType.LengthDelimited);
const VECTOR = tagOf(2, WireType.LengthDelimited);
const CONTENT = tagOf(3, WireType.LengthDelimited);
const CONTENT_TYPE = tagOf(4, WireType.Varint);
const METADATA = tagOf(5, WireType.LengthDelimited);
const DISTANCE_TAG = tagOf(6, WireType.Fixed64);

/** A tag and a length of one byte, and the text. */
const ID_BYTES = 2 + POINT_ID_LENGTH;
const CONTENT_TYPE_BYTES = 2;
const DISTANCE_BYTES = 9;

/** Points that are written one after the other, each as a Point in field 1. */
export class PointList {
  /** What they take as a part of a message. */
  readonly byteLength: number;
  readonly #wants: Include;
  readonly #dimension: number;
  /** The bytes of each as a message. */
  readonly #lengths: Uint32Array;

  constructor(
    readonly records: Records,
    readonly start: number,
    readonly end: number,
    /** The parts that are written besides ids, in bits. */
    private readonly include: number,
    private readonly distances?: Float64Array,
  ) {
    this.#wants = includeOf(include);
    this.#dimension = records.vectors.length / (records.ids.length / POINT_ID_BYTES);
    this.#lengths = Uint32Array.from({ length: end - start }, (_, at) => this.#measure(start + at));
    this.byteLength = this.#lengths.reduce((sum, bytes) => sum + fieldLength(bytes), 0);
  }

  /** The bytes of one of them, its tag and its length included. */
  itemLength(at: number): number {
    return fieldLength(this.#lengthAt(at));
  }

  /** Writes one of them; returns the offset behind it. */
  write(target: Buffer, offset: number, at: number): number {
    const { records, include } = this;
    const wants = this.#wants;
    let end = writeHead(target, offset, POINTS, this.#lengthAt(at));
    end = writeHead(target, end, ID, POINT_ID_LENGTH);
    end = writePointId(target, end, records.ids, at * POINT_ID_BYTES);
    if (wants.vector) end = writeField(target, end, VECTOR, this.#vector(at));
    if (wants.content) {
      end = writeField(target, end, CONTENT, part(records.contents, records.contentEnds, at));
    }
    if (wants.contentType) {
      target[end++] = CONTENT_TYPE;
      target[end++] = fromContentType(records.contentTypes[at] ?? 0);
    }
    const metadata = wants.metadata ? this.#metadata(at) : NONE;
    if (metadata.length > 0) end = writeField(target, end, METADATA, metadata);
    if ((include & DISTANCE) !== 0) {
      target[end++] = DISTANCE_TAG;
      end = target.writeDoubleLE(this.distances?.[at] ?? 0, end);
    }
    return end;
  }

  #lengthAt(at: number): number {
    return this.#lengths[at - this.start] ?? 0;
  }

  #measure(at: number): number {
    const { records, include } = this;
    const wants = this.#wants;
    let bytes = ID_BYTES;
    if (wants.vector) bytes += fieldLength(this.#dimension * Float32Array.BYTES_PER_ELEMENT);
    if (wants.content) bytes += fieldLength(partLength(records.contentEnds, at));
    if (wants.contentType) bytes += CONTENT_TYPE_BYTES;
    const metadataBytes = wants.metadata ? partLength(records.metadataEnds, at) : 0;
    if (metadataBytes > 0) bytes += fieldLength(metadataBytes);
    if ((include & DISTANCE) !== 0) bytes += DISTANCE_BYTES;
    return bytes;
  }

  #vector(at: number): Uint8Array {
    const { buffer, byteOffset } = this.records.vectors;
    const bytes = this.#dimension * Float32Array.BYTES_PER_ELEMENT;
    return new Uint8Array(buffer, byteOffset + at * bytes, bytes);
  }

  #metadata(at: number): Uint8Array {
    return part(this.records.metadata, this.records.metadataEnds, at);
  }
}

const NONE = new Uint8Array();

function partLength(ends: Uint32Array, at: number): number {
  return (ends[at] ?? 0) - (ends[at - 1] ?? 0);
}

/** One of several parts that lie one after the other. */
function part(bytes: Uint8Array, ends: Uint32Array, at: number): Uint8Array {
  return bytes.subarray(ends[at - 1] ?? 0, ends[at]);
}

/** What a field of so many bytes takes. */
function fieldLength(bytes: number): number {
  return 1 + varintLength(bytes) + bytes;
}

function writeHead(target: Buffer, offset: number, tag: number, length: number): number {
  target[offset] = tag;
  return writeVarint(target, offset + 1, length);
}

function writeField(target: Buffer, offset: number, tag: number, bytes: Uint8Array): number {
  const start = writeHead(target, offset, tag, bytes.length);
  target.set(bytes, start);
  return start + bytes.length;
}
