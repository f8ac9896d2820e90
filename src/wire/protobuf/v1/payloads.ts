import { ContentType } from '../../../core/model.js';
import type { Limits } from '../../../core/limits.js';
import type { ContentFault } from '../../../core/point-batch.js';
import { POINT_ID_BYTES } from '../../../core/point-id.js';
import type { Records } from '../../../core/records.js';
import { describeUpsert } from '../../../core/upserts.js';
import * as native from '../../../engine/json.js';
import { accepted } from '../../json/json.js';
import { ByteArena } from '../byte-arena.js';
import type { WireReader } from '../wire-reader.js';
import { readContentType } from './enums.js';
import { readId } from './read-ids.js';

/** Ids and payloads of the points of a message, each part of them in an array of its own. */
export class Payloads {
  /** Zeros for a point without one. */
  readonly ids: Uint8Array;
  readonly #contentTypes: Uint8Array;
  readonly #contents: Texts;
  readonly #metadata: Texts;
  #item = 0;

  constructor(
    private readonly reader: WireReader,
    /** How many points the message has. */
    count: number,
    private readonly limits: Limits,
  ) {
    const { length } = reader.bytes;
    this.ids = new Uint8Array(count * POINT_ID_BYTES);
    this.#contentTypes = new Uint8Array(count).fill(ContentType.Text);
    this.#contents = new Texts(length, count, limits.maxContentBytes);
    this.#metadata = new Texts(length, count);
  }

  /** The index of the point whose fields are read. */
  get item(): number {
    return this.#item;
  }

  readId(): void {
    const id = readId(this.reader, `${describeUpsert(this.#item)}id`);
    this.ids.set(id, this.#item * POINT_ID_BYTES);
  }

  readContent(): void {
    this.#contents.read(this.reader);
  }

  readContentType(): void {
    this.#contentTypes[this.#item] = readContentType(this.reader, describeUpsert(this.#item));
  }

  readMetadata(): void {
    this.#metadata.read(this.reader);
  }

  /** Goes on with the next point. */
  next(): void {
    this.#contents.next();
    this.#metadata.next();
    this.#item += 1;
  }

  /** All that was read; throws a VectordError where metadata are none. */
  list(): Omit<Records, 'vectors'> & { readonly contentFault: ContentFault | undefined } {
    const { bytes: texts, ends } = this.#metadata;
    const checked = accepted(native.readMetadata(texts, ends), this.limits);
    return {
      ids: this.ids,
      contentTypes: this.#contentTypes,
      contents: this.#contents.bytes,
      contentEnds: this.#contents.ends,
      contentFault: this.#contents.fault,
      metadata: checked.metadata,
      metadataEnds: checked.metadataEnds,
    };
  }
}

/** A text of each point, one behind the other. */
class Texts {
  /** Where each text ends. */
  readonly ends: Uint32Array;
  /** The first that is too long, of which nothing is kept. */
  fault: ContentFault | undefined;
  readonly #bytes: ByteArena;
  #start = 0;
  #item = 0;

  constructor(
    messageBytes: number,
    count: number,
    private readonly maxBytes = Infinity,
  ) {
    this.#bytes = new ByteArena(messageBytes);
    this.ends = new Uint32Array(count);
  }

  get bytes(): Uint8Array {
    return this.#bytes.bytes;
  }

  /** Reads the text of the point; of several the last one counts. */
  read(reader: WireReader): void {
    this.#bytes.truncate(this.#start);
    this.#bytes.append(reader.text());
  }

  next(): void {
    const bytes = this.#bytes.length - this.#start;
    if (bytes > this.maxBytes) {
      this.fault ??= { item: this.#item, bytes };
      this.#bytes.truncate(this.#start);
    }
    this.#start = this.#bytes.length;
    this.ends[this.#item] = this.#start;
    this.#item += 1;
  }
}
