import { setImmediate } from 'node:timers/promises';
import { VectordError, invalid } from './errors.js';
import type { Limits } from './limits.js';
import type { NewPoint, Point, Query } from './model.js';
import type { Engine, EngineQuery, EngineStatus } from './native.js';
import { assignPointIds, formatPointId, type PointId, type PointIds } from './point-id.js';

/** So many points of ordinary size are handed over within a millisecond. */
const LARGE_BATCH = 500;

export interface ServiceOptions {
  readonly limits: Limits;
  /** The search breadth of a query that names none. */
  readonly defaultEf: number;
}

/**
 * The operations of the vector store, free of any protocol. Every rule about what a request may
 * hold lives here or, where it takes a look at each value, in the engine; both interfaces only
 * convert. A refused request changes nothing.
 */
export class Service {
  readonly #engine: Engine;
  readonly #limits: Limits;
  readonly #defaultEf: number;

  constructor(engine: Engine, options: ServiceOptions) {
    this.#engine = engine;
    this.#limits = options.limits;
    this.#defaultEf = options.defaultEf;
  }

  get dimension(): number {
    return this.#engine.dimension;
  }

  get limits(): Limits {
    return this.#limits;
  }

  /** Stores a point; resolves with its id once it is durable and visible to every search. */
  async insert(point: NewPoint): Promise<PointId> {
    this.#checkPoint(point, '');
    const ids = assignPointIds(1);
    await this.#engine.insert(ids, [point], describeSingle);
    return ids;
  }

  /** Stores all points or none; resolves with their ids in input order. */
  async insertBatch(points: readonly NewPoint[]): Promise<PointIds> {
    this.checkBatchSize('vectors', points.length);
    points.forEach((point, index) => this.#checkPoint(point, `vectors[${index}]: `));
    const ids = assignPointIds(points.length);
    if (points.length > 0) {
      // To read a large batch has held up everybody else, and to hand it over does so again: they
      // have their turn between the two.
      if (points.length > LARGE_BATCH) await setImmediate();
      await this.#engine.insert(ids, points, (index) => `vectors[${index}]: `);
    }
    return ids;
  }

  /** The stored point, its vector bit for bit and its content byte for byte. */
  get(id: PointId): Point {
    const found = this.#engine.get(id);
    if (found === undefined) throw pointNotFound();
    return { id: formatPointId(id), ...found };
  }

  /** Deletes a point; resolves, once that is durable, with whether there was one. */
  async delete(id: PointId): Promise<boolean> {
    return await this.#engine.delete(id);
  }

  /** The ids of the nearest points, closest first. */
  async search(query: Query): Promise<PointIds> {
    const prepared = this.#prepare(query, '');
    const atOnce = this.#engine.search(prepared);
    if (atOnce !== undefined) return atOnce;
    const [ids = new Uint8Array()] = await this.#engine.searchBatch([prepared], describeSingle);
    return ids;
  }

  /** One list of ids per query, in query order, each closest first. */
  async searchBatch(queries: readonly Query[]): Promise<PointIds[]> {
    this.checkBatchSize('queries', queries.length);
    const prepared = queries.map((query, index) => this.#prepare(query, `queries[${index}]: `));
    if (prepared.length === 0) return [];
    this.#checkSearchWork(prepared);
    return await this.#engine.searchBatch(prepared, (index) => `queries[${index}]: `);
  }

  /** What the engine says of itself: points, dimension, whether it takes writes. */
  status(): EngineStatus {
    return this.#engine.status();
  }

  /** Refuses a batch of too many items; the codecs ask before they build the items. */
  checkBatchSize(field: string, count: number): void {
    const { maxBatch } = this.#limits;
    if (count > maxBatch) {
      throw new VectordError(
        'TOO_LARGE',
        `${field} has ${count} items, at most ${maxBatch} are allowed (MAX_BATCH)`,
      );
    }
  }

  #checkPoint({ vector, payload }: NewPoint, where: string): void {
    this.#checkDimension(vector, where);
    if (!payload.content.isWellFormed()) {
      throw invalid(`${where}payload.content holds a lone surrogate, expected Unicode text`);
    }
    const { maxContentBytes } = this.#limits;
    // A UTF-16 unit takes at most 3 bytes of UTF-8: most contents need no count.
    if (payload.content.length * 3 <= maxContentBytes) return;
    const bytes = Buffer.byteLength(payload.content);
    if (bytes > maxContentBytes) {
      throw new VectordError(
        'TOO_LARGE',
        `${where}payload.content has ${bytes} bytes, ` +
          `at most ${maxContentBytes} are allowed (MAX_CONTENT_BYTES)`,
      );
    }
  }

  #prepare(query: Query, where: string): EngineQuery {
    this.#checkDimension(query.vector, where);
    if (query.limit < 1) throw invalid(`${where}limit is ${query.limit}, expected at least 1`);
    const ef = clampToUint32(query.ef ?? 0);
    return {
      vector: query.vector,
      similarity: query.similarity,
      limit: clampToUint32(query.limit),
      ef: ef === 0 ? this.#defaultEf : ef,
    };
  }

  #checkDimension(vector: Float32Array, where: string): void {
    if (vector.length !== this.dimension) {
      throw invalid(
        `${where}vector has ${vector.length} dimensions, this service stores ${this.dimension}`,
      );
    }
  }

  #checkSearchWork(queries: readonly EngineQuery[]): void {
    const { maxSearchWork } = this.#limits;
    const { points } = this.#engine.status();
    let work = 0;
    for (const { ef, limit } of queries) work += Math.max(ef, Math.min(limit, points));
    // One query is always allowed: its cost is bounded by the number of points.
    if (work > maxSearchWork && queries.length > 1) {
      throw new VectordError(
        'TOO_LARGE',
        `queries ask for ${work} candidates in all (the sum of max(ef, min(limit, points))), ` +
          `at most ${maxSearchWork} are allowed (MAX_SEARCH_WORK)`,
      );
    }
  }
}

/** The answer to a get of a point that is not there, on both interfaces. */
export function pointNotFound(): VectordError {
  return new VectordError('NOT_FOUND', 'Point not found');
}

function describeSingle(): string {
  return '';
}

const UINT32_MAX = 0xffff_ffff;

/** More than 2^32 - 1 results or candidates cannot be, so a greater number means "all". */
function clampToUint32(value: number | bigint): number {
  return value > UINT32_MAX ? UINT32_MAX : Number(value);
}
