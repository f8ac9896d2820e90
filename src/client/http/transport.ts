import type { Pages, Transport } from '../transport.js';
import {
  readCount,
  readDeleted,
  readFound,
  readFoundLists,
  readGot,
  readInfo,
  readPage,
  readUpdated,
  readUpserted,
} from './answers.js';
import {
  encodePoint,
  filterBody,
  getBody,
  scrollBody,
  searchAllBody,
  searchBody,
  updateBody,
  upsertBody,
} from './bodies.js';
import { Caller, type Fetch } from './caller.js';

/** Points of a page of a scroll; the service ends it earlier where they are large. */
const PAGE_POINTS = 1_000;

export interface HttpOptions {
  /** Where `/v1` begins, without a slash at the end. */
  readonly base: string;
  readonly key: string | undefined;
  readonly fetch: Fetch;
  /** Whether a call ends where the service is frozen meanwhile: another one may answer it. */
  readonly isWatched: boolean;
}

/** The operations over HTTP, vectors in base64 both ways. */
export function httpTransport({ base, key, fetch, isWatched }: HttpOptions): Transport {
  const caller = new Caller(base, key, fetch, isWatched);
  const scroll: Transport['scroll'] = (asked, limit) =>
    caller.post('scroll', scrollBody(asked, limit), readPage);
  return {
    encode: encodePoint,
    upsert: (points, ifAbsent) => caller.post('upsert', upsertBody(points, ifAbsent), readUpserted),
    get: (ids, include) => caller.post('get', getBody(ids, include), readGot),
    search: (query) => caller.post('search', searchBody(query), readFound),
    searchAll: (queries) => caller.post('search', searchAllBody(queries), readFoundLists),
    scroll,
    pages: (asked): Pages => ({
      next: (after) => scroll({ ...asked, after }, PAGE_POINTS),
      // Between two pages nothing is under way.
      close() {},
    }),
    count: (filter) => caller.post('count', filterBody(filter), readCount),
    delete: (ids) => caller.post('delete', JSON.stringify({ ids }), readDeleted),
    deleteMatching: (filter) => caller.post('delete', filterBody(filter), readDeleted),
    deleteAll: (confirm) =>
      caller.post('delete', JSON.stringify({ all: true, confirm }), readDeleted),
    update: (updates) => caller.post('update', updateBody(updates), readUpdated),
    info: () => caller.get('/v1/info', readInfo),
    // fetch keeps its connections by itself.
    close() {},
  };
}
