import { VectordError } from '../../core/errors.js';
import { IDS_ALONE } from '../../core/include.js';
import type { NewPoint } from '../../core/model.js';
import type { PointBatch } from '../../core/point-batch.js';
import { formatPointId, POINT_ID_BYTES, type PointId, type PointIds } from '../../core/point-id.js';
import type { Points, PointsStatus, Soon } from '../../core/points.js';
import { idsOfEach, type QueryBatch } from '../../core/query-batch.js';
import {
  ANY_BYTES,
  type Found,
  type Gathered,
  type Include,
  type NeighbourQueries,
  type Page,
  type PageRequest,
  type UpdateBatch,
  type UpsertBatch,
  type Upserted,
} from '../../core/records.js';
import type { OnRequestEnd } from '../../core/request-end.js';
import type { DescribeItem } from '../../core/rules.js';
import { asNeighbourQueries } from '../../core/searches.js';
import { askParts, ofShard } from './ask-parts.js';
import { drawInto } from './draw-ids.js';
import { findNeighbours } from './find-neighbours.js';
import { getPoints } from './get-points.js';
import { pickBytes, pickRecords } from './pick-records.js';
import { checkCount, checkFinite } from './refusals.js';
import { scrollShards } from './scroll-shards.js';
import { Shards, type ShardPoints } from './shards.js';
import { shardOf } from './slots.js';
import { statusOfAll } from './status-of-all.js';
import { inOrder, pickIds, placesOf, split, type Part } from './split.js';
import { nameItems, writeParts } from './write-parts.js';

const NO_VECTORS = new Float32Array();

const neverEnds: OnRequestEnd = () => undefined;

/** Shards as one store: what is in one of them is written and read there, the rest in all of them. */
export class ShardedPoints implements Points {
  readonly #shards: Shards;

  /** @param dimension values in each vector */
  constructor(shards: readonly ShardPoints[], dimension: number) {
    this.#shards = new Shards(shards, dimension);
  }

  async insert(batch: PointBatch, describe: DescribeItem): Promise<void> {
    await this.#ask(this.#shardOfDrawn(batch.ids), neverEnds, (points) =>
      points.insert(batch, describe),
    );
  }

  async upsert(batch: UpsertBatch, keeps: boolean, describe: DescribeItem): Promise<Upserted> {
    const { ids, vectors, areIdsDrawn = false } = batch;
    if (areIdsDrawn) {
      return await this.#ask(this.#shardOfDrawn(ids), neverEnds, (points) =>
        points.upsert(batch, keeps, describe),
      );
    }
    const { count, dimension } = this.#shards;
    const parts = split(ids, count);
    const isWhole = parts.length === 1;
    if (!isWhole) checkFinite(vectors, dimension, describe);
    this.#checkSpace(parts);
    const write = async (part: Part): Promise<Upserted> => {
      const points = isWhole ? batch : pickRecords([batch], placesOf(part), dimension);
      const describeInAll: DescribeItem = (index) => describe(part.indices[index] ?? 0);
      return await this.#shards.at(part.shard).upsert(points, keeps, describeInAll);
    };
    const counts = await writeParts(parts, write, {
      about: ({ indices }) => nameItems(indices, (index) => describe(index).replace(/: $/, '')),
      mend: 'send it again: what is stored stays so, but a point without an id would come twice',
    });
    return {
      stored: sum(counts, ({ stored }) => stored),
      replaced: sum(counts, ({ replaced }) => replaced),
      kept: sum(counts, ({ kept }) => kept),
    };
  }

  async update(batch: UpdateBatch): Promise<Uint8Array> {
    const parts = split(batch.ids, this.#shards.count);
    this.#checkSpace(parts);
    const write = async (part: Part): Promise<Uint8Array> => {
      const places = placesOf(part);
      const payloads = pickRecords([{ ...batch, vectors: NO_VECTORS }], places, 0);
      const given = pickBytes([batch.given], places, 1);
      return await this.#shards.at(part.shard).update({ ...payloads, given });
    };
    return await writeIds(batch.ids, parts, write, 'send it again: what is changed stays so');
  }

  async delete(id: PointId): Promise<boolean> {
    const shard = shardOf(id, 0, this.#shards.count);
    return await this.#ask(shard, neverEnds, (points) => points.delete(id));
  }

  async deleteMany(ids: PointIds): Promise<Uint8Array> {
    const parts = split(ids, this.#shards.count);
    const write = async (part: Part): Promise<Uint8Array> =>
      await this.#shards.at(part.shard).deleteMany(pickIds(ids, part));
    return await writeIds(ids, parts, write, 'send it again: what is deleted counts as missing');
  }

  async deleteMatching(filter: string): Promise<number> {
    const write = async ({ shard }: { shard: number }): Promise<number> =>
      await this.#shards.at(shard).deleteMatching(filter);
    // Where a shard does not answer, those of the others stay as well.
    await this.#counts(filter, neverEnds);
    const mend = 'send it again: it deletes the points that are left';
    return sum(await writeParts(this.#shards.all, write, { mend }), (deleted) => deleted);
  }

  async deleteAll(expected: number): Promise<void> {
    const counts = await this.#counts(undefined, neverEnds);
    checkCount(
      sum(counts, (count) => count),
      expected,
    );
    const write = async ({ shard }: { shard: number }): Promise<void> => {
      await this.#shards.at(shard).deleteAll(counts[shard] ?? 0);
    };
    const mend = 'count the points that are left, and send it again with their number';
    await writeParts(this.#shards.all, write, { mend });
  }

  async get(id: PointId): Promise<NewPoint | undefined> {
    return await this.#ask(shardOf(id, 0, this.#shards.count), neverEnds, (points) =>
      points.get(id),
    );
  }

  async getMany(
    ids: PointIds,
    include: Include,
    maxBytes: number,
    onRequestEnd: OnRequestEnd,
  ): Promise<Gathered> {
    return await getPoints(this.#shards, ids, include, maxBytes, onRequestEnd);
  }

  async count(filter: string | undefined, onRequestEnd: OnRequestEnd): Promise<number> {
    return sum(await this.#counts(filter, onRequestEnd), (count) => count);
  }

  async scroll(request: PageRequest, onRequestEnd: OnRequestEnd): Promise<Page> {
    return await scrollShards(this.#shards, request, async (shard, page) =>
      this.#ask(shard, onRequestEnd, (points, onEnd) => points.scroll(page, onEnd)),
    );
  }

  /** Other machines are asked: only the batch forms answer. */
  search(): undefined {
    return undefined;
  }

  /** As `search`. */
  find(): undefined {
    return undefined;
  }

  async searchBatch(
    batch: QueryBatch,
    describe: DescribeItem,
    onRequestEnd: OnRequestEnd,
  ): Promise<PointIds[]> {
    const queries = asNeighbourQueries(batch);
    const found = await this.findBatch(queries, IDS_ALONE, ANY_BYTES, describe, onRequestEnd);
    return idsOfEach(found.counts, found.records.ids);
  }

  async findBatch(
    batch: NeighbourQueries,
    include: Include,
    maxBytes: number,
    describe: DescribeItem,
    onRequestEnd: OnRequestEnd,
  ): Promise<Found> {
    return await findNeighbours(this.#shards, batch, include, maxBytes, describe, onRequestEnd);
  }

  /** A query that is broader than a shard looks at each of its points once. */
  searchWork(limits: Uint32Array, efs: Uint32Array): number {
    return sum(this.#shards.all, ({ shard }) => {
      const points = this.#shards.at(shard);
      const { points: most } = points.status();
      return points.searchWork(
        limits,
        efs.map((ef) => Math.min(ef, most)),
      );
    });
  }

  status(): PointsStatus {
    return statusOfAll(this.#shards.all.map(({ shard }) => this.#shards.at(shard).status()));
  }

  /** The shard for a batch whose ids the service has drawn: they are drawn again, for that shard. */
  #shardOfDrawn(ids: PointIds): number {
    const shard = this.#shards.next();
    drawInto(ids, shard, this.#shards.count);
    return shard;
  }

  /** Refuses a write before some of its parts are written where others cannot be. */
  #checkSpace(parts: readonly Part[]): void {
    const full = parts.find(({ shard }) => this.#shards.at(shard).isFull());
    if (full === undefined) return;
    throw new VectordError(
      'STORAGE_FULL',
      `nothing was written: the disks of most replicas of shard ${full.shard} are full: free some ` +
        'space there, or delete points',
    );
  }

  async #ask<Answer>(
    shard: number,
    onRequestEnd: OnRequestEnd,
    ask: (points: ShardPoints, onEnd: OnRequestEnd) => Soon<Answer>,
  ): Promise<Answer> {
    try {
      return await ask(this.#shards.at(shard), onRequestEnd);
    } catch (error) {
      throw ofShard(error, shard);
    }
  }

  async #counts(filter: string | undefined, onRequestEnd: OnRequestEnd): Promise<number[]> {
    return await askParts(
      this.#shards.all,
      onRequestEnd,
      async ({ shard }, onEnd) => await this.#shards.at(shard).count(filter, onEnd),
    );
  }
}

/** Writes the parts of a request about these ids, and answers for each of them 1 or 0. */
async function writeIds(
  ids: PointIds,
  parts: readonly Part[],
  write: (part: Part) => Promise<Uint8Array>,
  mend: string,
): Promise<Uint8Array> {
  const about = ({ indices }: Part): string =>
    nameItems(indices, (index) => {
      const start = index * POINT_ID_BYTES;
      return formatPointId(ids.subarray(start, start + POINT_ID_BYTES));
    });
  const found = await writeParts(parts, write, { about, mend });
  return inOrder(ids.length / POINT_ID_BYTES, parts, found);
}

function sum<Item>(items: readonly Item[], numberOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + numberOf(item), 0);
}
