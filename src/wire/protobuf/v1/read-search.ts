import { invalid } from '../../../core/errors.js';
import { DISTANCE } from '../../../core/include.js';
import { isNilAt, POINT_ID_BYTES } from '../../../core/point-id.js';
import { checkBatchSize, describeQuery, type Rules } from '../../../core/rules.js';
import { toNeighbourQueries, type SearchRequest } from '../../../core/searches.js';
import type { Filters } from '../../../core/records.js';
import * as native from '../../../engine/json.js';
import { accepted } from '../../json/json.js';
import { ByteArena } from '../byte-arena.js';
import { countItems } from '../read-items.js';
import { readFloats } from '../read-vector.js';
import { tagOf, WireReader, WireType } from '../wire-reader.js';
import { toSimilarity } from './enums.js';
import { readInclude } from './include.js';
import { readFilter } from './read-filter.js';
import { readId } from './read-ids.js';
import { readBool, readCollection, readFields, readMessage } from './strict.js';

const QUERIES = tagOf(1, WireType.LengthDelimited);
const COLLECTION = tagOf(2, WireType.LengthDelimited);

const PACKED_VECTOR = tagOf(1, WireType.LengthDelimited);
const VECTOR_VALUE = tagOf(1, WireType.Fixed32);
const LIKE = tagOf(2, WireType.LengthDelimited);
const SIMILARITY = tagOf(3, WireType.Varint);
const LIMIT = tagOf(4, WireType.Varint);
const EF = tagOf(5, WireType.Varint);
const EXACT = tagOf(6, WireType.Varint);
const MAX_DISTANCE = tagOf(7, WireType.Fixed64);
const INCLUDE = tagOf(8, WireType.LengthDelimited);
const FILTER = tagOf(9, WireType.LengthDelimited);

/** Reads a SearchRequest. */
export function readSearch(bytes: Uint8Array, rules: Rules, maxFields?: number): SearchRequest {
  const count = countItems(bytes, maxFields);
  checkBatchSize(rules.limits, 'queries', count);
  const reader = new WireReader(bytes, maxFields);
  const queries = new Queries(reader, bytes.length, count);
  readFields(reader, 'the request', (tag) => {
    if (tag === QUERIES) queries.read();
    else if (tag === COLLECTION) readCollection(reader);
    else return false;
    return true;
  });
  const { includes, list } = queries;
  accepted(native.checkFilters(list.filters), rules.limits);
  return { ...toNeighbourQueries(list, rules, describeQuery), includes };
}

/** The queries that have been read, each part of them in an array of its own. */
class Queries {
  readonly includes: Uint8Array;
  readonly #values: ByteArena;
  readonly #vectorEnds: Uint32Array;
  readonly #likes: Uint8Array;
  readonly #similarities: Uint8Array;
  readonly #limits: Float64Array;
  readonly #efs: Float64Array;
  readonly #maxDistances: Float64Array;
  readonly #filters: string[];
  #item = 0;

  constructor(
    private readonly reader: WireReader,
    messageBytes: number,
    count: number,
  ) {
    this.includes = new Uint8Array(count).fill(DISTANCE);
    this.#values = new ByteArena(messageBytes);
    this.#vectorEnds = new Uint32Array(count);
    this.#likes = new Uint8Array(count * POINT_ID_BYTES);
    this.#similarities = new Uint8Array(count);
    this.#limits = new Float64Array(count);
    this.#efs = new Float64Array(count);
    this.#maxDistances = new Float64Array(count).fill(Infinity);
    this.#filters = Array.from({ length: count }, () => '');
  }

  get list() {
    return {
      vectors: this.#values.floatsFrom(0),
      vectorEnds: this.#vectorEnds,
      likes: this.#likes,
      similarities: this.#similarities,
      limits: this.#limits,
      efs: this.#efs,
      maxDistances: this.#maxDistances,
      filters: toFilters(this.#filters),
    };
  }

  /** Reads the Query that follows. */
  read(): void {
    const item = this.#item;
    const start = this.#values.length;
    let similarity = 0;
    let isExact = false;
    let include: number | undefined;
    readMessage(this.reader, `queries[${item}]`, (tag) => {
      switch (tag) {
        case SIMILARITY:
          similarity = this.reader.int32();
          return true;
        case EXACT:
          isExact = readBool(this.reader);
          return true;
        case INCLUDE:
          include = readInclude(this.reader, describeQuery(item), include);
          return true;
        case FILTER:
          this.#filters[item] = readFilter(
            this.reader,
            `queries[${item}].filter`,
            this.#filters[item],
          );
          return true;
        default:
          return this.#readNumber(tag, item) || this.#readTarget(tag, item);
      }
    });
    this.#checkTarget(item, this.#values.length > start);
    this.#similarities[item] = toSimilarity(similarity, describeQuery(item));
    if (isExact) this.#efs[item] = Infinity;
    if (include !== undefined) this.includes[item] = include;
    this.#vectorEnds[item] = this.#values.length / Float32Array.BYTES_PER_ELEMENT;
    this.#item += 1;
  }

  #readNumber(tag: number, item: number): boolean {
    if (tag === LIMIT) this.#limits[item] = Number(this.reader.uint64());
    else if (tag === EF) this.#efs[item] = Number(this.reader.uint64());
    else if (tag === MAX_DISTANCE) this.#maxDistances[item] = this.#readDistance(item);
    else return false;
    return true;
  }

  #readDistance(item: number): number {
    const distance = this.reader.double();
    if (distance >= 0 && distance < Infinity) return distance;
    const expected = 'a finite number, not negative';
    throw invalid(`${describeQuery(item)}max_distance is ${distance}, expected ${expected}`);
  }

  /** What the query is about. */
  #readTarget(tag: number, item: number): boolean {
    const { reader } = this;
    if (tag === PACKED_VECTOR || tag === VECTOR_VALUE) readFloats(reader, tag, this.#values);
    else if (tag === LIKE) {
      this.#likes.set(readId(reader, `${describeQuery(item)}like`), item * POINT_ID_BYTES);
    } else return false;
    return true;
  }

  #checkTarget(item: number, hasVector: boolean): void {
    if (hasVector === isNilAt(this.#likes, item)) return;
    const found = hasVector ? 'like is given besides a vector' : 'vector is missing';
    throw invalid(`${describeQuery(item)}${found}, expected either a vector or like`);
  }
}

/** Texts, one behind the other. */
function toFilters(list: readonly string[]): Filters {
  const texts = Buffer.from(list.join(''));
  let end = 0;
  const ends = Uint32Array.from(list, (text) => (end += Buffer.byteLength(text)));
  return { texts, ends };
}
