import type { Attempt, Transport } from '../transport.js';
import { readCount, readDeleted, readInfo, readUpdated, readUpserted } from './answers.js';
import { unary, type Unary } from './calls.js';
import type { GrpcOptions } from './connection.js';
import { loadConnection } from './load-connection.js';
import { readFound, readGot, readPage } from './read-points.js';
import {
  countRequest,
  deleteAllRequest,
  deleteMatchingRequest,
  deleteRequest,
  encodePoint,
  getRequest,
  scrollRequest,
  searchRequest,
  updateRequest,
  upsertRequest,
} from './requests.js';
import { StreamPages } from './stream-pages.js';

const NOTHING = new Uint8Array();

/** The operations over gRPC. */
export function grpcTransport(options: GrpcOptions): Transport {
  const connection = loadConnection(options);
  // Each call tells of a failure.
  connection.catch(() => {});
  const call = <Answer>(
    method: Unary,
    request: Uint8Array,
    read: (bytes: Uint8Array) => Answer,
  ): Attempt<Answer> => unary(connection, method, request, read);
  return {
    encode: encodePoint,
    upsert: (points, ifAbsent) => call('upsert', upsertRequest(points, ifAbsent), readUpserted),
    get: (ids, include) =>
      call('get', getRequest(ids, include), (bytes) => readGot(bytes, include)),
    search: (query) =>
      call('search', searchRequest([query]), (bytes) => {
        const [found = []] = readFound(bytes, [query.include]);
        return found;
      }),
    searchAll: (queries) =>
      call('search', searchRequest(queries), (bytes) =>
        readFound(
          bytes,
          queries.map(({ include }) => include),
        ),
      ),
    scroll: (scroll, limit) =>
      call('scroll', scrollRequest(scroll, limit), (bytes) => readPage(bytes, scroll.include)),
    pages: (scroll) => new StreamPages(connection, scroll),
    count: (filter) => call('count', countRequest(filter), readCount),
    delete: (ids) => call('delete', deleteRequest(ids), readDeleted),
    deleteMatching: (filter) => call('delete', deleteMatchingRequest(filter), readDeleted),
    deleteAll: (confirm) => call('delete', deleteAllRequest(confirm), readDeleted),
    update: (updates) => call('update', updateRequest(updates), readUpdated),
    info: () => call('info', NOTHING, readInfo),
    close: () => {
      connection.then(
        ({ close }) => close(),
        () => {},
      );
    },
  };
}
