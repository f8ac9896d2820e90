import { load } from './bulk/load.js';
import { CALL_OPTIONS, Calls, ifNotBegun } from './calls.js';
import { array, boolean, members, whole } from './checks.js';
import { reworded, TooLargeError, VectordError } from './errors.js';
import type {
  BulkOptions,
  CallOptions,
  Client,
  CountOptions,
  GetOptions,
  ScrollOptions,
  ScrollPageOptions,
  UpsertOptions,
} from './interface.js';
import type {
  BulkProgress,
  Deleted,
  Filter,
  Got,
  Info,
  NewPoint,
  Page,
  Point,
  PointUpdate,
  Query,
  Updated,
  Upserted,
} from './model.js';
import {
  checkedFilter,
  filterOf,
  fullPoint,
  fullQuery,
  fullScroll,
  fullUpdate,
  ids,
  payloadParts,
} from './requests.js';
import type { Transport } from './transport.js';

const UPSERT_OPTIONS: readonly string[] = [
  'ifAbsent',
  ...CALL_OPTIONS,
] satisfies readonly (keyof UpsertOptions)[];

const COUNT_OPTIONS: readonly string[] = [
  'filter',
  ...CALL_OPTIONS,
] satisfies readonly (keyof CountOptions)[];

const GET_OPTIONS = ['include', ...CALL_OPTIONS] as const satisfies readonly (keyof GetOptions)[];

const SCROLL_OPTIONS = [
  'after',
  'order',
  'filter',
  ...GET_OPTIONS,
] as const satisfies readonly (keyof ScrollOptions)[];

const PAGE_OPTIONS: readonly string[] = [
  'limit',
  ...SCROLL_OPTIONS,
] satisfies readonly (keyof ScrollPageOptions)[];

/** An upsert of this many points or more asks for the limits of the service first. */
const MANY = 10_000;

const OR_BULK = '; bulk stores any number of points, in batches';

function advisingBulk(failure: unknown): never {
  if (!(failure instanceof TooLargeError)) throw failure;
  throw reworded(failure, (message) => `${message}${OR_BULK}`);
}

/** Over gRPC a search is a request with a list of one query, which its caller does not know. */
function withoutPlace(failure: unknown): never {
  if (!(failure instanceof VectordError)) throw failure;
  throw reworded(failure, (message) => message.replace(/^queries\[0\](?:\.|: )/, ''));
}

/** The operations over whatever transport: checks, ids, deadlines and repeats are the same. */
export class PointsClient implements Client {
  readonly #transport: Transport;
  readonly #calls: Calls;

  constructor(transport: Transport, options: Omit<CallOptions, 'signal'>) {
    this.#transport = transport;
    this.#calls = new Calls(options);
  }

  async upsert(points: readonly NewPoint<object>[], given: UpsertOptions = {}): Promise<Upserted> {
    const { ifAbsent = false, ...options } = members('options', given, UPSERT_OPTIONS);
    boolean('ifAbsent', ifAbsent);
    if (array('points', points).length >= MANY) await this.#checkLength(points, options);
    // Array.from, unlike map, does not pass over what was never assigned.
    const encoded = Array.from(points, (point, at) =>
      this.#transport.encode(fullPoint(point, `points[${at}]`)),
    );
    const attempt = this.#transport.upsert(encoded, ifAbsent);
    return await this.#calls.make(attempt, options).catch(advisingBulk);
  }

  /** Refuses points that no request can hold, before the time and the memory of encoding them. */
  async #checkLength({ length }: readonly unknown[], options: CallOptions): Promise<void> {
    const { limits, dimension } = await this.info(options);
    const bytes = length * dimension * Float32Array.BYTES_PER_ELEMENT;
    if (length > limits.maxBatch) {
      const most = `at most ${limits.maxBatch} are allowed (MAX_BATCH)`;
      throw new TooLargeError(`points has ${length} items, ${most}${OR_BULK}`);
    }
    if (bytes > limits.maxRequestBytes) {
      const most = `a request has at most ${limits.maxRequestBytes} (MAX_REQUEST_BYTES)`;
      throw new TooLargeError(`the vectors of points have ${bytes} bytes, ${most}${OR_BULK}`);
    }
  }

  async get(list: readonly string[], given: GetOptions = {}): Promise<Got> {
    const { include, ...options } = members('options', given, GET_OPTIONS);
    const attempt = this.#transport.get(ids(list), payloadParts(include));
    return await this.#calls.make(attempt, options);
  }

  async search(query: Query, options?: CallOptions): Promise<readonly Point[]> {
    const attempt = this.#transport.search(fullQuery(query));
    return await this.#calls.make(attempt, options).catch(withoutPlace);
  }

  async searchAll(
    queries: readonly Query[],
    options?: CallOptions,
  ): Promise<readonly (readonly Point[])[]> {
    const full = Array.from(array('queries', queries), (query, at) =>
      fullQuery(query, `queries[${at}].`),
    );
    return await this.#calls.make(this.#transport.searchAll(full), options);
  }

  async *scroll(given: ScrollOptions = {}): AsyncGenerator<Point, void, undefined> {
    const { after: start, order, filter, ...rest } = members('options', given, SCROLL_OPTIONS);
    const { include, ...options } = rest;
    const scroll = fullScroll({ after: start, order, filter, include });
    const pages = this.#transport.pages(scroll);
    let { after } = scroll;
    try {
      do {
        // oxlint-disable-next-line no-await-in-loop -- each page begins where the last one ends
        const { points, next } = await this.#calls.make(pages.next(after), options);
        yield* points;
        after = next ?? undefined;
      } while (after !== undefined);
    } finally {
      pages.close();
    }
  }

  async scrollPage(given: ScrollPageOptions): Promise<Page> {
    const { limit, after, order, filter, ...rest } = members('options', given, PAGE_OPTIONS);
    const { include, ...options } = rest;
    const scroll = fullScroll({ after, order, filter, include });
    const attempt = this.#transport.scroll(scroll, whole('limit', limit, 1));
    return await this.#calls.make(attempt, options);
  }

  async count(given: CountOptions = {}): Promise<number> {
    const { filter, ...options } = members('options', given, COUNT_OPTIONS);
    return await this.#calls.make(this.#transport.count(checkedFilter(filter)), options);
  }

  async delete(list: readonly string[], options?: CallOptions): Promise<Deleted> {
    return await this.#calls.make(this.#transport.delete(ids(list)), options, ifNotBegun);
  }

  async deleteMatching(filter: Filter, options?: CallOptions): Promise<Deleted> {
    const attempt = this.#transport.deleteMatching(filterOf(filter));
    return await this.#calls.make(attempt, options, ifNotBegun);
  }

  async deleteAll(confirm: number, options?: CallOptions): Promise<Deleted> {
    const attempt = this.#transport.deleteAll(whole('confirm', confirm));
    return await this.#calls.make(attempt, options, ifNotBegun);
  }

  async update(updates: readonly PointUpdate<object>[], options?: CallOptions): Promise<Updated> {
    const full = Array.from(array('points', updates), (update, at) =>
      fullUpdate(update, `points[${at}]`),
    );
    return await this.#calls.make(this.#transport.update(full), options);
  }

  async info(options?: CallOptions): Promise<Info> {
    return await this.#calls.make(this.#transport.info(), options);
  }

  async bulk(
    points: Iterable<NewPoint<object>> | AsyncIterable<NewPoint<object>>,
    options: BulkOptions = {},
  ): Promise<BulkProgress> {
    return await load(this.#transport, this.#calls, points, options);
  }

  close(): void {
    this.#calls.close();
    this.#transport.close();
  }
}
