import native from '../../native/index.cjs';
import { toContentType, type NewPoint, type Similarity } from '../core/model.js';
import { sequenceOf, storeToken } from '../core/page-token.js';
import type { PointBatch } from '../core/point-batch.js';
import type { PointId, PointIds } from '../core/point-id.js';
import type { Points } from '../core/points.js';
import { idsOfEach, type EngineQuery, type QueryBatch } from '../core/query-batch.js';
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
} from '../core/records.js';
import type { OnRequestEnd } from '../core/request-end.js';
import type { DescribeItem } from '../core/rules.js';
import { translate, translateAsync } from './errors.js';
import { Messages } from './messages.js';

export interface EngineOptions {
  readonly path: string;
  /** Absent: the dimension that the data folder remembers, or the default for a fresh one. */
  readonly dimension: number | undefined;
  readonly hnswM: number;
  readonly hnswEfConstruction: number;
  /** Similarities whose graphs are kept from the start on, before any search asks for them. */
  readonly warmMetrics: readonly Similarity[];
  /** Another graph is given back after so long without a search; 0: never. */
  readonly graphIdleSeconds: number;
  /** Size of a file of the log. */
  readonly segmentBytes: number;
  /** Also bounds the memory of the requests that the engine has taken on. */
  readonly maxInflightBytes: number;
  readonly maxFilterIndexBytes: number;
}

export type EngineStatus = native.EngineStatus;
export type EngineDamage = native.EngineDamage;
export type EngineMetrics = native.EngineMetrics;
/** What a message has done to a replica, and where the replica is in its stream with it. */
export type Outcome = native.NativeOutcome;
/** A sequence of the stream of a shard, and the checksum of all messages up to it. */
export type StreamPosition = native.NativePosition;
export type DimensionSource = 'Configured' | 'Remembered' | 'Default';

/**
 * The only door to the addon: typed arrays in, buffers out, every error turned into a
 * VectordError. Calls are synchronous; where the engine has to wait for the disk or works on its
 * own threads, the call hands over the work and answers a promise.
 */
export class Engine implements Points {
  readonly #engine: native.NativeEngine;
  readonly dimension: number;
  readonly storeId: Uint8Array;
  readonly messages: Messages;

  private constructor(engine: native.NativeEngine) {
    this.#engine = engine;
    this.dimension = engine.dimension;
    this.storeId = engine.storeId;
    this.messages = new Messages(engine);
  }

  /** Opens a data folder; what stands in the way is told in the message. */
  static async open({ path, dimension, ...settings }: EngineOptions): Promise<Engine> {
    const options = {
      path,
      m: settings.hnswM,
      efConstruction: settings.hnswEfConstruction,
      warmMetrics: [...settings.warmMetrics],
      graphIdleSeconds: settings.graphIdleSeconds,
      segmentBytes: settings.segmentBytes,
      maxQueuedBytes: settings.maxInflightBytes,
      maxFilterIndexBytes: settings.maxFilterIndexBytes,
    };
    const all = dimension === undefined ? options : { ...options, dimension };
    return new Engine(await translateAsync(() => native.NativeEngine.open(all)));
  }

  /** The engine that another loop of this process has shared under this number. */
  static shared(number: number): Engine {
    return new Engine(native.NativeEngine.shared(number));
  }

  /** A number under which other loops find it. */
  share(): number {
    return this.#engine.share();
  }

  get dimensionSource(): DimensionSource {
    return this.#engine.dimensionSource as DimensionSource;
  }

  /** What opening the folder had to repair, as lines for the log. */
  get notes(): readonly string[] {
    return this.#engine.notes;
  }

  async insert(batch: PointBatch, describe: DescribeItem): Promise<void> {
    const { ids, vectors, contentTypes, contents, contentEnds } = batch;
    await translateAsync(
      () => this.#engine.insert(ids, vectors, contentTypes, contents, contentEnds),
      describe,
    );
  }

  async delete(id: PointId): Promise<boolean> {
    return await translateAsync(() => this.#engine.delete(id));
  }

  get(id: PointId): NewPoint | undefined {
    const point = translate(() => this.#engine.get(id));
    if (point === null) return undefined;
    const { vector, contentType, content } = point;
    return { vector, payload: { contentType: toContentType(contentType), content } };
  }

  search({ vector, similarity, limit, ef }: EngineQuery): PointIds | undefined {
    return translate(() => this.#engine.search(vector, similarity, limit, ef)) ?? undefined;
  }

  /** Runs on the engine's own threads. */
  async searchBatch(
    batch: QueryBatch,
    describe: DescribeItem,
    onRequestEnd: OnRequestEnd,
  ): Promise<PointIds[]> {
    const { vectors, similarities, limits, efs } = batch;
    const { ids, counts } = await this.#begin(
      () => this.#engine.searchBatch(vectors, similarities, limits, efs),
      onRequestEnd,
      describe,
    );
    return idsOfEach(counts, ids);
  }

  async upsert(batch: UpsertBatch, keeps: boolean, describe: DescribeItem): Promise<Upserted> {
    const { ids, vectors, contentTypes, contents, contentEnds, metadata, metadataEnds } = batch;
    return await translateAsync(
      () =>
        this.#engine.upsert(
          ids,
          vectors,
          contentTypes,
          contents,
          contentEnds,
          metadata,
          metadataEnds,
          keeps,
        ),
      describe,
    );
  }

  async update(batch: UpdateBatch): Promise<Uint8Array> {
    const { ids, given, contentTypes, contents, contentEnds, metadata, metadataEnds } = batch;
    return await translateAsync(() =>
      this.#engine.update(ids, given, contentTypes, contents, contentEnds, metadata, metadataEnds),
    );
  }

  async deleteMany(ids: PointIds): Promise<Uint8Array> {
    return await translateAsync(() => this.#engine.deleteMany(ids));
  }

  async deleteMatching(filter: string): Promise<number> {
    return await translateAsync(() => this.#engine.deleteMatching(filter));
  }

  /** In a replica, finds the points of a delete by filter before its message comes. */
  async findToDelete(filter: string): Promise<void> {
    await translateAsync(() => this.#engine.findToDelete(filter));
  }

  /** Gives back what was found with this filter for a message that will not come. */
  async giveBackFound(filter: string): Promise<void> {
    await translateAsync(async () => this.#engine.giveBackFound(filter));
  }

  async deleteAll(expected: number): Promise<void> {
    await translateAsync(() => this.#engine.deleteAll(expected));
  }

  async getMany(
    ids: PointIds,
    include: Include,
    maxBytes: number,
    onRequestEnd: OnRequestEnd,
  ): Promise<Gathered> {
    return await this.#begin(() => this.#engine.getMany(ids, include, maxBytes), onRequestEnd);
  }

  async count(filter: string | undefined, onRequestEnd: OnRequestEnd): Promise<number> {
    if (filter === undefined) return this.status().points;
    return await this.#begin(() => this.#engine.count(filter), onRequestEnd);
  }

  async scroll(request: PageRequest, onRequestEnd: OnRequestEnd): Promise<Page> {
    const { limit, newestFirst, filter, include, maxBytes } = request;
    const after = request.after && sequenceOf(this.storeId, request.after);
    const { records, next } = await this.#begin(
      () => this.#engine.scroll(after, limit, newestFirst, filter, include, maxBytes),
      onRequestEnd,
    );
    return { records, next: next === undefined ? undefined : storeToken(this.storeId, next) };
  }

  find(
    query: NeighbourQuery,
    include: Include,
    maxBytes: number,
    describe: DescribeItem,
  ): Found | undefined {
    const { vector, similarity, limit, ef, maxDistance, like, filter } = query;
    const found = translate(
      () =>
        this.#engine.find(
          vector,
          similarity,
          limit,
          ef,
          maxDistance,
          like,
          filter,
          include,
          maxBytes,
        ),
      describe,
    );
    return found ?? undefined;
  }

  async findBatch(
    batch: NeighbourQueries,
    include: Include,
    maxBytes: number,
    describe: DescribeItem,
    onRequestEnd: OnRequestEnd,
  ): Promise<Found> {
    const { vectors, similarities, limits, efs, maxDistances, likes, filters } = batch;
    return await this.#begin(
      () =>
        this.#engine.findBatch(
          vectors,
          similarities,
          limits,
          efs,
          maxDistances,
          likes,
          filters.texts,
          filters.ends,
          include,
          maxBytes,
        ),
      onRequestEnd,
      describe,
    );
  }

  /** Begins work on the engine's own threads, which is given up once nobody waits for it. */
  async #begin<Answer>(
    call: () => { readonly answer: Promise<Answer>; readonly ticket?: number },
    onRequestEnd: OnRequestEnd,
    describe?: DescribeItem,
  ): Promise<Answer> {
    return await translateAsync(() => {
      const { answer, ticket } = call();
      if (ticket !== undefined) onRequestEnd(() => this.#engine.abandon(ticket));
      return answer;
    }, describe);
  }

  searchWork(limits: Uint32Array, efs: Uint32Array): number {
    return this.#engine.searchWork(limits, efs);
  }

  /**
   * Applies the next message of the stream that orders the writes of a shard; one of no bytes changes
   * nothing. Resolves once it is durable and visible. Rejects with OVERLOADED where the engine has
   * too much to do: that message, and those behind it, are to be applied again.
   */
  async apply(message: Uint8Array, sequence: number): Promise<Outcome> {
    return await translateAsync(() => this.#engine.apply(message, sequence));
  }

  /** Where the replica is in its stream with all that is durable and visible. */
  get position(): StreamPosition {
    return this.#engine.position;
  }

  /** The position beyond which nothing is visible: ahead of the other while messages become visible. */
  get horizon(): StreamPosition {
    return this.#engine.horizon;
  }

  status(): EngineStatus {
    return this.#engine.status();
  }

  metrics(): EngineMetrics {
    return this.#engine.metrics();
  }

  /** Makes everything durable and lets the data folder go; everything else is refused from now on. */
  async close(): Promise<void> {
    await translateAsync(() => this.#engine.close());
  }

  /** Frees the memory of a closed engine: nothing else may be called from now on. */
  release(): void {
    this.#engine.release();
  }
}
