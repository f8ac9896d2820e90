import type { ContentFault } from '../../../core/point-batch.js';
import type { Records } from '../../../core/records.js';
import type { Limits } from '../../../core/limits.js';
import * as native from '../../../engine/json.js';
import { accepted } from '../../json/json.js';
import { ByteArena } from '../byte-arena.js';
import type { WireReader } from '../wire-reader.js';

/** The contents of several points, one behind the other. */
export class Contents {
  readonly #bytes: ByteArena;
  readonly #ends: Uint32Array;
  #start = 0;
  #item = 0;
  fault: ContentFault | undefined;

  constructor(
    messageBytes: number,
    items: number,
    private readonly maxBytes: number,
  ) {
    this.#bytes = new ByteArena(messageBytes);
    this.#ends = new Uint32Array(items);
  }

  /** Reads the content of the point; of several the last one counts. */
  read(reader: WireReader): void {
    this.#bytes.truncate(this.#start);
    this.#bytes.append(reader.text());
  }

  /** Goes on with the next point. */
  end(): void {
    const bytes = this.#bytes.length - this.#start;
    if (bytes > this.maxBytes) {
      this.fault ??= { item: this.#item, bytes };
      this.#bytes.truncate(this.#start);
    }
    this.#start = this.#bytes.length;
    this.#ends[this.#item] = this.#start;
    this.#item += 1;
  }

  get list(): Pick<Records, 'contents' | 'contentEnds'> {
    return { contents: this.#bytes.bytes, contentEnds: this.#ends };
  }
}

/** The texts of the metadata of several points, one behind the other. */
export class MetadataTexts {
  readonly #bytes: ByteArena;
  readonly #ends: Uint32Array;
  #start = 0;
  #item = 0;

  constructor(messageBytes: number, items: number) {
    this.#bytes = new ByteArena(messageBytes);
    this.#ends = new Uint32Array(items);
  }

  /** Reads the metadata of the point; of several the last ones count. */
  read(reader: WireReader): void {
    this.#bytes.truncate(this.#start);
    this.#bytes.append(reader.text());
  }

  /** Goes on with the next point. */
  end(): void {
    this.#start = this.#bytes.length;
    this.#ends[this.#item] = this.#start;
    this.#item += 1;
  }

  /** The metadata in the form in which they are stored; throws where a text is none. */
  check(limits: Limits): Pick<Records, 'metadata' | 'metadataEnds'> {
    const { metadata, metadataEnds } = accepted(
      native.readMetadata(this.#bytes.bytes, this.#ends),
      limits,
    );
    return { metadata, metadataEnds };
  }
}
