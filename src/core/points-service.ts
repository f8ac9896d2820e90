import { distinct } from './distinct.js';
import { invalid } from './errors.js';
import { find } from './find.js';
import { formatPageToken, parsePageToken } from './page-token.js';
import { filterPointIds, POINT_ID_BYTES, type PointIds } from './point-id.js';
import type { Points } from './points.js';
import { breadth, clampToUint32 } from './query-batch.js';
import type {
  Filters,
  Found,
  Include,
  NeighbourQueries,
  Records,
  UpdateBatch,
  UpsertBatch,
  Upserted,
} from './records.js';
import type { OnRequestEnd } from './request-end.js';
import { describeQuery, describeSingle, type Rules } from './rules.js';
import { checkSearchWork } from './search-work.js';
import { searchBreadth } from './searches.js';
import { describeUpsert } from './upserts.js';

/** Points that were asked for by their ids. */
export interface Got {
  readonly records: Records;
  /** The ids of those that are not there. */
  readonly missing: PointIds;
}

/** How many points a write has changed, and the ids of those that are not there. */
export interface Changed {
  readonly count: number;
  readonly missing: PointIds;
}

/** Points that a client asks for. */
export interface GetRequest {
  readonly ids: PointIds;
  /** In bits. */
  readonly include: number;
}

/** Points that a client wants deleted. */
export interface DeleteRequest {
  readonly ids: PointIds;
  /** The text of the filter, where those that pass it are to be deleted. */
  readonly filter?: string | undefined;
  /** The number of points, where all are to be deleted. */
  readonly confirm?: number | undefined;
}

/** Points that a client wants counted. */
export interface CountRequest {
  /** The text of the filter that they have to pass; it has been checked. */
  readonly filter?: string | undefined;
}

/** A page of all points that a client asks for. */
export interface ScrollRequest {
  /** A whole number of any size. */
  readonly limit: number;
  /** The `next` of the page before. */
  readonly after?: string | undefined;
  readonly newestFirst: boolean;
  /** The text of the filter that the points have to pass; it has been checked. */
  readonly filter?: string | undefined;
  readonly include: Include;
  /** The page ends before its records take more, but has a point; MAX_REQUEST_BYTES without it. */
  readonly maxBytes?: number;
}

export interface ScrollPage {
  readonly records: Records;
  /** Names the next page; undefined if this is the last one. */
  readonly next: string | undefined;
}

/** The operations of `/v1`, free of any protocol. A refused request changes nothing. */
export class PointsService {
  constructor(
    private readonly points: Points,
    readonly rules: Rules,
  ) {}

  /** Stores points, all or none; those that are there are replaced, or kept where `keeps` says so. */
  async upsert(batch: UpsertBatch, keeps: boolean): Promise<Upserted> {
    if (batch.ids.length === 0) return { stored: 0, replaced: 0, kept: 0 };
    return await this.points.upsert(batch, keeps, describeUpsert);
  }

  /** Changes payloads, all or none. */
  async update(batch: UpdateBatch): Promise<Changed> {
    if (batch.ids.length === 0) return { count: 0, missing: batch.ids };
    return changed(batch.ids, await this.points.update(batch));
  }

  /** Deletes points, all or none. */
  async delete({ ids, filter, confirm }: DeleteRequest): Promise<Changed> {
    if (confirm !== undefined) return await this.#deleteAll(confirm);
    if (filter !== undefined) {
      return { count: await this.points.deleteMatching(filter), missing: NO_IDS };
    }
    // An id that comes twice counts once.
    const once = distinct(ids);
    if (once.length === 0) return { count: 0, missing: once };
    return changed(once, await this.points.deleteMany(once));
  }

  /** Deletes all points, if there are as many as the client says. */
  async #deleteAll(confirm: number): Promise<Changed> {
    // More than there can be; the engine counts to 2^53.
    await this.points.deleteAll(Math.min(confirm, Number.MAX_SAFE_INTEGER));
    return { count: confirm, missing: NO_IDS };
  }

  /** The points with these ids. An id that comes twice counts once. */
  async get(ids: PointIds, include: Include, onRequestEnd: OnRequestEnd): Promise<Got> {
    const once = distinct(ids);
    const { maxRequestBytes } = this.rules.limits;
    const { records, found } = await this.points.getMany(
      once,
      include,
      maxRequestBytes,
      onRequestEnd,
    );
    return { records, missing: without(once, found) };
  }

  /** The neighbours of each query, with the parts of their records that any of them includes. */
  async search(
    queries: NeighbourQueries,
    isList: boolean,
    include: Include,
    onRequestEnd: OnRequestEnd,
  ): Promise<Found> {
    const { defaultEf, limits: bounds } = this.rules;
    const { limits, efs } = queries;
    if (limits.length > 1) this.#checkWork(queries);
    const breadths = efs.map((ef, at) => searchBreadth(ef, limits[at] ?? 1, defaultEf));
    const asked = { ...queries, efs: breadths };
    const describe = isList ? describeQuery : describeSingle;
    return await find(this.points, asked, include, bounds.maxRequestBytes, describe, onRequestEnd);
  }

  /** Refuses queries that are too much work together. */
  #checkWork({ limits, efs, filters }: NeighbourQueries): void {
    const { points: count } = this.points.status();
    // A query that is exact, as broad, or filtered looks at each point once. One that names no ef
    // counts with HNSW_EF, though it may be broader: it did so before the default grew with the
    // limit, and a batch that was taken then has to be taken now.
    const counted = efs.map((ef, at) =>
      hasFilter(filters, at) ? count : Math.min(breadth(ef, this.rules.defaultEf), count),
    );
    checkSearchWork(this.points, this.rules, { limits, efs: counted }, 'TOO_LARGE');
  }

  /** A part of all points, in the order in which they were written. */
  async scroll(request: ScrollRequest, onRequestEnd: OnRequestEnd): Promise<ScrollPage> {
    const { maxRequestBytes } = this.rules.limits;
    const { limit, after, newestFirst, filter, include, maxBytes = maxRequestBytes } = request;
    if (limit < 1) throw invalid('limit is 0, expected at least 1');
    const page = await this.points.scroll(
      {
        after: after === undefined ? undefined : parsePageToken(after),
        limit: clampToUint32(limit),
        newestFirst,
        filter,
        include,
        maxBytes: Math.min(maxBytes, maxRequestBytes),
      },
      onRequestEnd,
    );
    const { records, next } = page;
    return { records, next: next === undefined ? undefined : formatPageToken(next) };
  }

  /** How many points there are, or how many pass a filter. */
  async count(filter: string | undefined, onRequestEnd: OnRequestEnd): Promise<number> {
    return await this.points.count(filter, onRequestEnd);
  }
}

const NO_IDS: PointIds = new Uint8Array();

function hasFilter({ ends }: Filters, at: number): boolean {
  return ends[at] !== (ends[at - 1] ?? 0);
}

function changed(ids: PointIds, found: Uint8Array): Changed {
  const missing = without(ids, found);
  return { count: (ids.length - missing.length) / POINT_ID_BYTES, missing };
}

/** The ids that were not found. */
function without(ids: PointIds, found: Uint8Array): PointIds {
  return filterPointIds(ids, (index) => found[index] !== 1);
}
