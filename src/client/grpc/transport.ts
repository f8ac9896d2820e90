import { createClient, Metadata } from 'nice-grpc';
import type { Transport } from '../transport.js';
import { readCount, readDeleted, readInfo, readUpdated, readUpserted } from './answers.js';
import { unary } from './calls.js';
import { openChannel } from './channel.js';
import type { Tls } from './credentials.js';
import { pointsServiceDefinition } from './definition.js';
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

export interface GrpcOptions {
  /** `host:port`. */
  readonly target: string;
  readonly key: string | undefined;
  /** undefined: without TLS. */
  readonly tls: Tls | undefined;
}

/** The operations over gRPC. */
export function grpcTransport({ target, key, tls }: GrpcOptions): Transport {
  const channel = openChannel(target, tls);
  const metadata = new Metadata(key === undefined ? {} : { authorization: key });
  const client = createClient(pointsServiceDefinition, channel, { '*': { metadata } });
  return {
    encode: encodePoint,
    upsert: (points, ifAbsent) =>
      unary(client.upsert, upsertRequest(points, ifAbsent), readUpserted),
    get: (ids, include) =>
      unary(client.get, getRequest(ids, include), (bytes) => readGot(bytes, include)),
    search: (query) =>
      unary(client.search, searchRequest([query]), (bytes) => {
        const [found = []] = readFound(bytes, [query.include]);
        return found;
      }),
    searchAll: (queries) =>
      unary(client.search, searchRequest(queries), (bytes) =>
        readFound(
          bytes,
          queries.map(({ include }) => include),
        ),
      ),
    scroll: (scroll, limit) =>
      unary(client.scroll, scrollRequest(scroll, limit), (bytes) =>
        readPage(bytes, scroll.include),
      ),
    pages: (scroll) => new StreamPages(client, scroll),
    count: (filter) => unary(client.count, countRequest(filter), readCount),
    delete: (ids) => unary(client.delete, deleteRequest(ids), readDeleted),
    deleteMatching: (filter) => unary(client.delete, deleteMatchingRequest(filter), readDeleted),
    deleteAll: (confirm) => unary(client.delete, deleteAllRequest(confirm), readDeleted),
    update: (updates) => unary(client.update, updateRequest(updates), readUpdated),
    info: () => unary(client.info, NOTHING, readInfo),
    close: () => channel.close(),
  };
}
