import type { NewPoint } from './model.js';
import type { PointBatch } from './point-batch.js';
import type { PointId, PointIds } from './point-id.js';
import type { EngineQuery, QueryBatch } from './query-batch.js';
import type { OnRequestEnd } from './request-end.js';
import type { DescribeItem } from './rules.js';

/** Where the points are stored and searched: what the service needs of an engine. */
export interface Points {
  /** Stores points, all or none; resolves once they are durable and visible. */
  insert(batch: PointBatch, describe: DescribeItem): Promise<void>;

  /** Deletes a point; resolves, once that is durable, with whether there was one. */
  delete(id: PointId): Promise<boolean>;

  /** The vector and payload of a point. */
  get(id: PointId): NewPoint | undefined;

  /** The ids found; undefined where the search is too heavy for the calling thread. */
  search(query: EngineQuery): PointIds | undefined;

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
