import { VectordError } from './errors.js';
import type { Point, Query } from './model.js';
import type { PointBatch } from './point-batch.js';
import { formatPointId, type PointId, type PointIds } from './point-id.js';
import type { Points, PointsDamage } from './points.js';
import { toEngineQuery, type EngineQuery, type QueryBatch } from './query-batch.js';
import type { OnRequestEnd } from './request-end.js';
import { describePoint, describeQuery, describeSingle, type Rules } from './rules.js';
import { checkSearchWork } from './search-work.js';

/**
 * The operations of the vector store, free of any protocol. Every rule about what a request may
 * hold lives here, in what a batch of points or queries is made with (point-batch.ts,
 * query-batch.ts) or, where it takes a look at each value, in the engine; both interfaces only
 * convert. A refused request changes nothing.
 */
export class Service {
  readonly #points: Points;
  #isStopping = false;

  constructor(
    points: Points,
    readonly rules: Rules,
  ) {
    this.#points = points;
  }

  /** Stores a point; resolves with its id once it is durable and visible to every search. */
  async insert(batch: PointBatch): Promise<PointId> {
    await this.#points.insert(batch, describeSingle);
    return batch.ids;
  }

  /** Stores all points or none; resolves with their ids in input order. */
  async insertBatch(batch: PointBatch): Promise<PointIds> {
    if (batch.ids.length > 0) await this.#points.insert(batch, describePoint);
    return batch.ids;
  }

  /** The stored point, its vector bit for bit and its content byte for byte. */
  async get(id: PointId): Promise<Point> {
    const found = await this.#points.get(id);
    if (found === undefined) throw pointNotFound();
    return { id: formatPointId(id), ...found };
  }

  /** Deletes a point; resolves, once that is durable, with whether there was one. */
  async delete(id: PointId): Promise<boolean> {
    return await this.#points.delete(id);
  }

  /** The ids of the nearest points, closest first. */
  async search(query: Query, onRequestEnd: OnRequestEnd): Promise<PointIds> {
    const prepared = toEngineQuery(query, this.rules);
    const atOnce = await this.#points.search(prepared);
    if (atOnce !== undefined) return atOnce;
    const batch = inLists(prepared);
    const found = await this.#points.searchBatch(batch, describeSingle, onRequestEnd);
    return found[0] ?? new Uint8Array();
  }

  /** One list of ids per query, in query order, each closest first. */
  async searchBatch(batch: QueryBatch, onRequestEnd: OnRequestEnd): Promise<PointIds[]> {
    if (batch.limits.length === 0) return [];
    checkSearchWork(this.#points, this.rules, batch, 'OVERLOADED');
    return await this.#points.searchBatch(batch, describeQuery, onRequestEnd);
  }

  /** From now on nobody should send anything new; what comes nevertheless is answered. */
  announceStop(): void {
    this.#isStopping = true;
  }

  /** What keeps the service from doing all that it is there for; the log has the particulars. */
  faults(): readonly string[] {
    const { failure, isFull, damage, faults: others = [] } = this.#points.status();
    const faults: string[] = [...others];
    if (this.#isStopping) faults.push('the service is stopping');
    if (failure !== undefined) {
      faults.push('a write could not be made durable: writes are refused until a restart');
    }
    if (isFull) faults.push('the disk is full: inserts are refused until there is room');
    if (damage !== undefined) faults.push(...describeDamage(damage));
    return faults;
  }
}

function inLists({ vector, similarity, limit, ef }: EngineQuery): QueryBatch {
  return {
    vectors: vector,
    similarities: Uint8Array.of(similarity),
    limits: Uint32Array.of(limit),
    efs: Uint32Array.of(ef),
  };
}

/** The answer to a get of a point that is not there, on both interfaces. */
export function pointNotFound(): VectordError {
  return new VectordError('NOT_FOUND', 'Point not found');
}

/** Names points, and no files: who asks needs no key. */
function describeDamage(damage: PointsDamage): string[] {
  const { points, damagedPoints, damagedHeaders } = damage;
  const faults: string[] = [];
  if (damagedPoints === 1) {
    faults.push(
      `the record of point ${points.join()} is damaged: answers that would hold it are refused, ` +
        'and searches may miss it',
    );
  } else if (damagedPoints > 1) {
    const more = damagedPoints - points.length;
    faults.push(
      `the records of points ${points.join(', ')}${more > 0 ? ` and ${more} more` : ''} are ` +
        'damaged: answers that would hold them are refused, and searches may miss them',
    );
  }
  if (damagedHeaders > 0) {
    faults.push(
      `headers of the log are damaged (${damagedHeaders} places): no answer is, and a start will ` +
        'be refused unless compaction has replaced them by then',
    );
  }
  return faults;
}
