import type { NewPoint } from './model.js';
import type { PointBatch } from './point-batch.js';
import type { PointId, PointIds } from './point-id.js';
import type { EngineQuery, QueryBatch } from './query-batch.js';
import type {
  Found,
  Gathered,
  Include,
  NeighbourQueries,
  NeighbourQuery,
  Page,
  PageRequest,
  UpdateBatch,
  UpsertBatch,
  Upserted,
} from './records.js';
import type { OnRequestEnd } from './request-end.js';
import type { DescribeItem } from './rules.js';

/** What is there at once on one machine, and asks other machines first in a cluster. */
export type Soon<Answer> = Answer | Promise<Answer>;

/** Where the points are stored and searched: what the service needs of an engine. */
export interface Points {
  /** Stores points, all or none; resolves once they are durable and visible. */
  insert(batch: PointBatch, describe: DescribeItem): Promise<void>;

  /** Deletes a point; resolves, once that is durable, with whether there was one. */
  delete(id: PointId): Promise<boolean>;

  /** The vector and payload of a point. */
  get(id: PointId): Soon<NewPoint | undefined>;

  /** The ids found; undefined where the search is too heavy for the calling thread. */
  search(query: EngineQuery): Soon<PointIds | undefined>;

  /** The ids found for each query. A search is given up once nobody waits for its answer. */
  searchBatch(
    batch: QueryBatch,
    describe: DescribeItem,
    onRequestEnd: OnRequestEnd,
  ): Promise<PointIds[]>;

  /**
   * The candidates that these queries have in all, among the current points: for each the greater
   * of its ef and min(limit, points).
   */
  searchWork(limits: Uint32Array, efs: Uint32Array): number;

  /**
   * Stores points, all or none; a point that is there is replaced, or stays where `keeps` says so.
   * Resolves once they are durable and visible. Each id is in the batch once.
   */
  upsert(batch: UpsertBatch, keeps: boolean, describe: DescribeItem): Promise<Upserted>;

  /**
   * Changes payloads, all or none; resolves, once that is durable and visible, with 1 for each point
   * that is there, else 0. Each id is in the batch once.
   */
  update(batch: UpdateBatch): Promise<Uint8Array>;

  /** Deletes points, all or none; resolves as `update` does. */
  deleteMany(ids: PointIds): Promise<Uint8Array>;

  /** Deletes the points that pass a filter, all or none; resolves, once that is durable, with their number. */
  deleteMatching(filter: string): Promise<number>;

  /** Deletes all points, or rejects with a CONFLICT where there are not `expected`. */
  deleteAll(expected: number): Promise<void>;

  /** The points with these ids, which take at most `maxBytes`. */
  getMany(
    ids: PointIds,
    include: Include,
    maxBytes: number,
    onRequestEnd: OnRequestEnd,
  ): Promise<Gathered>;

  /** Counts the points that pass a filter, or all of them. */
  count(filter: string | undefined, onRequestEnd: OnRequestEnd): Promise<number>;

  /** A page of all points, in the order in which they were written. */
  scroll(request: PageRequest, onRequestEnd: OnRequestEnd): Promise<Page>;

  /**
   * The neighbours found; undefined where the search is too heavy for the calling thread, or their
   * records take more than `maxBytes`.
   */
  find(
    query: NeighbourQuery,
    include: Include,
    maxBytes: number,
    describe: DescribeItem,
  ): Soon<Found | undefined>;

  /** The neighbours found for all queries, whose records take at most `maxBytes`. */
  findBatch(
    batch: NeighbourQueries,
    include: Include,
    maxBytes: number,
    describe: DescribeItem,
    onRequestEnd: OnRequestEnd,
  ): Promise<Found>;

  status(): PointsStatus;
}

export interface PointsStatus {
  /** Points that are not deleted. */
  readonly points: number;
  /** Why all writes are refused, if they are. */
  readonly failure?: string | undefined;
  /** Whether inserts are refused because the disk is full. */
  readonly isFull: boolean;
  readonly damage?: PointsDamage | undefined;
  /** What else keeps them from being read or written, such as other machines that do not answer. */
  readonly faults?: readonly string[];
}

/** Stored records that are damaged. */
export interface PointsDamage {
  /** The first points whose records are damaged. */
  readonly points: readonly string[];
  /** The number of such points. */
  readonly damagedPoints: number;
  /** The number of damaged places in headers, which affect no answer. */
  readonly damagedHeaders: number;
}
