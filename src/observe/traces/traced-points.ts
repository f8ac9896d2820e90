import type { NewPoint } from '../../core/model.js';
import type { PointBatch } from '../../core/point-batch.js';
import type { PointId, PointIds } from '../../core/point-id.js';
import type { Points, PointsStatus, Soon } from '../../core/points.js';
import type { EngineQuery } from '../../core/query-batch.js';
import type {
  Found,
  Include,
  NeighbourQuery,
  UpdateBatch,
  UpsertBatch,
  Upserted,
} from '../../core/records.js';
import type { DescribeItem } from '../../core/rules.js';
import type { Steps } from '../tracing.js';

/** Passes everything on to an engine, and notes each call as a step of its request. */
export class TracedPoints implements Points {
  constructor(
    private readonly points: Points,
    private readonly steps: Steps,
  ) {}

  insert(batch: PointBatch, describe: DescribeItem): Promise<void> {
    return this.steps.step('commit', () => this.points.insert(batch, describe));
  }

  upsert(batch: UpsertBatch, keeps: boolean, describe: DescribeItem): Promise<Upserted> {
    return this.steps.step('commit', () => this.points.upsert(batch, keeps, describe));
  }

  update(batch: UpdateBatch): Promise<Uint8Array> {
    return this.steps.step('commit', () => this.points.update(batch));
  }

  delete(id: PointId): Promise<boolean> {
    return this.steps.step('commit', () => this.points.delete(id));
  }

  deleteMany(ids: PointIds): Promise<Uint8Array> {
    return this.steps.step('commit', () => this.points.deleteMany(ids));
  }

  deleteMatching(filter: string): Promise<number> {
    return this.steps.step('commit', () => this.points.deleteMatching(filter));
  }

  deleteAll(expected: number): Promise<void> {
    return this.steps.step('commit', () => this.points.deleteAll(expected));
  }

  search(query: EngineQuery): Soon<PointIds | undefined> {
    return this.steps.step('search', () => this.points.search(query));
  }

  searchBatch(...call: Parameters<Points['searchBatch']>): Promise<PointIds[]> {
    return this.steps.step('search', () => this.points.searchBatch(...call));
  }

  find(
    query: NeighbourQuery,
    include: Include,
    maxBytes: number,
    describe: DescribeItem,
  ): Soon<Found | undefined> {
    return this.steps.step('search', () => this.points.find(query, include, maxBytes, describe));
  }

  findBatch(...call: Parameters<Points['findBatch']>): Promise<Found> {
    return this.steps.step('search', () => this.points.findBatch(...call));
  }

  get(id: PointId): Soon<NewPoint | undefined> {
    return this.steps.step('read', () => this.points.get(id));
  }

  getMany(...call: Parameters<Points['getMany']>): ReturnType<Points['getMany']> {
    return this.steps.step('read', () => this.points.getMany(...call));
  }

  scroll(...call: Parameters<Points['scroll']>): ReturnType<Points['scroll']> {
    return this.steps.step('read', () => this.points.scroll(...call));
  }

  count(...call: Parameters<Points['count']>): Promise<number> {
    return this.steps.step('read', () => this.points.count(...call));
  }

  searchWork(limits: Uint32Array, efs: Uint32Array): number {
    return this.points.searchWork(limits, efs);
  }

  status(): PointsStatus {
    return this.points.status();
  }
}
