import type {
  BulkProgress,
  Deleted,
  Filter,
  Got,
  Info,
  MetadataOf,
  NewPoint,
  Order,
  Page,
  Part,
  Point,
  PointUpdate,
  Query,
  Updated,
  Upserted,
} from './model.js';

/** When and how often a call that failed is repeated. */
export interface Retries {
  /** The most tries of a call, the first one included: 8 unless told otherwise. */
  readonly attempts: number;
  /**
   * The delay before the second try, in ms: 100 unless told otherwise. It doubles with each try, and
   * each is a quarter more or less, at random.
   */
  readonly baseMs: number;
  /** What the delay doubles up to, in ms: 2,000 unless told otherwise. */
  readonly maxMs: number;
}

/** What each call takes; what is not given is as in the options of the client. */
export interface CallOptions {
  /** The most time that the call takes, repeats included, in ms; Infinity for any. */
  readonly deadlineMs?: number | undefined;
  /** Gives the call up, which then fails with a CancelledError. */
  readonly signal?: AbortSignal | undefined;
  /** When and how often a call that failed is repeated; 0 for never. */
  readonly retries?: Partial<Retries> | 0 | undefined;
}

/** How points are stored. */
export interface UpsertOptions extends CallOptions {
  /** Stores only points whose ids are not there. */
  readonly ifAbsent?: boolean | undefined;
}

/** What is read of points. */
export interface GetOptions extends CallOptions {
  /** Content, content type and metadata unless told otherwise; `[]` for ids alone. */
  readonly include?: readonly Part[] | undefined;
}

/** Which points are listed, and in which order. The deadline is that of each page. */
export interface ScrollOptions extends GetOptions {
  /** The `next` of an earlier page. */
  readonly after?: string | undefined;
  /** oldest unless told otherwise. */
  readonly order?: Order | undefined;
  /** Leaves out points that do not pass. */
  readonly filter?: Filter | undefined;
}

/** Which points are counted. */
export interface CountOptions extends CallOptions {
  /** Counts only points that pass. */
  readonly filter?: Filter | undefined;
}

/** Which page of all points is read. */
export interface ScrollPageOptions extends ScrollOptions {
  /** The greatest number of points, at least 1. */
  readonly limit: number;
}

/** How a bulk load is done. */
export interface BulkOptions {
  /** About how much one request holds: 1 MiB unless told otherwise; never more than 4,096 points. */
  readonly batchBytes?: number | undefined;
  /** Requests that are under way at one time, at least 1: 4 unless told otherwise. */
  readonly window?: number | undefined;
  /** Stores only points whose ids are not there. */
  readonly ifAbsent?: boolean | undefined;
  /** Hears of each batch that is acknowledged. */
  readonly onProgress?: ((progress: BulkProgress) => void) | undefined;
  /** For how long a batch that fails is repeated, in ms: 60,000 unless told otherwise. */
  readonly patienceMs?: number | undefined;
  /** The most time that one try of a batch takes, in ms. */
  readonly deadlineMs?: number | undefined;
  /** Gives the load up, which then fails with a CancelledError. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The operations of vectord, over gRPC or HTTP. Each fails with a VectordError.
 *
 * A call that failed with an error that is `retryable` is repeated for a while (`retries`): reads,
 * upserts and updates always, deletes only if the service itself has refused them (OVERLOADED,
 * UNAVAILABLE) or nothing was sent: else a point that has come back meanwhile would be deleted. The
 * counts of a call that was repeated are those of its last try: what an earlier one had stored without an
 * answer counts as replaced, or as kept.
 * A repeat may undo what another client has written between two tries; `retries: 0` excludes that.
 */
export interface Client {
  /**
   * Stores points, all or none; one whose id exists is replaced whole. Needs a readwrite key. Fails with
   * INVALID_ARGUMENT for a vector of another dimension and an id that comes twice, with TOO_LARGE beyond
   * a limit of the service, and with STORAGE_FULL.
   */
  upsert(points: readonly NewPoint[], options?: UpsertOptions): Promise<Upserted>;
  /** The same of points whose metadata are of a type of one's own, such as an interface. */
  upsert<Own extends MetadataOf<Own>>(
    points: readonly NewPoint<Own>[],
    options?: UpsertOptions,
  ): Promise<Upserted>;

  /** Reads points by their ids; that one is not there is no failure. */
  get(ids: readonly string[], options?: GetOptions): Promise<Got>;

  /** The nearest points, closest first. Fails with NOT_FOUND if `like` names a missing point. */
  search(query: Query, options?: CallOptions): Promise<readonly Point[]>;

  /** The nearest points of each query, in the order of the queries: one request, on all cores. */
  searchAll(
    queries: readonly Query[],
    options?: CallOptions,
  ): Promise<readonly (readonly Point[])[]>;

  /**
   * All points, page after page, no more of them in memory than a few pages. Oldest first, a point that
   * lives throughout comes at least once, and again if it is replaced meanwhile.
   */
  scroll(options?: ScrollOptions): AsyncIterable<Point>;

  /** One page of all points; fewer than `limit` where they would be beyond MAX_REQUEST_BYTES. */
  scrollPage(options: ScrollPageOptions): Promise<Page>;

  /** The number of points, or of those that pass a filter. */
  count(options?: CountOptions): Promise<number>;

  /** Deletes points, all or none; that one is not there is no failure. Needs a readwrite key. */
  delete(ids: readonly string[], options?: CallOptions): Promise<Deleted>;

  /**
   * Deletes the points that pass a filter, all or none. Needs a readwrite key. Fails with
   * INVALID_ARGUMENT for an empty filter, also one within the filter.
   */
  deleteMatching(filter: Filter, options?: CallOptions): Promise<Deleted>;

  /**
   * Deletes all points if there are `confirm` of them, else fails with CONFLICT. Needs a readwrite key.
   */
  deleteAll(confirm: number, options?: CallOptions): Promise<Deleted>;

  /**
   * Changes contents and metadata, all or none; that a point is not there is no failure. Needs a
   * readwrite key.
   */
  update(updates: readonly PointUpdate[], options?: CallOptions): Promise<Updated>;
  /** The same of points whose metadata are of a type of one's own, such as an interface. */
  update<Own extends MetadataOf<Own>>(
    updates: readonly PointUpdate<Own>[],
    options?: CallOptions,
  ): Promise<Updated>;

  /** What the service is, holds and bounds. */
  info(options?: CallOptions): Promise<Info>;

  /**
   * Stores any number of points in batches, a few of them under way at one time, and reads no further
   * ahead of them. A batch that fails is repeated for `patienceMs`, in which the service may restart.
   * The first failure that cannot be mended so ends the load with its error: batches under way are
   * given up, and what was acknowledged stays. A load of points with ids of their own can be repeated.
   * Of points with the same id the last one is stored; with `ifAbsent` the first one.
   */
  bulk(
    points: Iterable<NewPoint> | AsyncIterable<NewPoint>,
    options?: BulkOptions,
  ): Promise<BulkProgress>;
  /** The same of points whose metadata are of a type of one's own, such as an interface. */
  bulk<Own extends MetadataOf<Own>>(
    points: Iterable<NewPoint<Own>> | AsyncIterable<NewPoint<Own>>,
    options?: BulkOptions,
  ): Promise<BulkProgress>;

  /** Ends the connections. Calls under way, and later ones, fail with CANCELLED. */
  close(): void;
}
