import { parseAddresses } from './address.js';
import { InvalidArgumentError } from './errors.js';
import { checkOptions, connectHttp, type HttpConnectOptions } from './http/connect.js';
import type { Client } from './interface.js';

/** How a client speaks to a service; the deadline and the retries are those of calls without. */
export type ConnectOptions = HttpConnectOptions;

/**
 * A client of the service at `address`, over HTTP: what browsers speak, and all that a program has of
 * `vectord/http`. The service lets pages in that
 * CORS_ORIGINS names. Of several addresses, those of the nodes of a cluster, it uses one, and goes on to
 * the next where nobody answers there, or the node is frozen or not ready. Throws an
 * InvalidArgumentError if an address or an option cannot be used.
 */
export function connect(address: string | readonly string[], options: ConnectOptions = {}): Client {
  const addresses = parseAddresses(address);
  checkOptions(options);
  if (addresses[0].protocol === 'http') return connectHttp(addresses, options);
  throw new InvalidArgumentError(
    `address is ${String(address)}, expected http:// or https://: this is the half of the client that speaks HTTP alone`,
  );
}

export {
  CancelledError,
  ConflictError,
  ConnectionLostError,
  InternalError,
  InvalidArgumentError,
  NotFoundError,
  OverloadedError,
  PermissionDeniedError,
  StorageFullError,
  TimeoutError,
  TooLargeError,
  UnauthenticatedError,
  UnavailableError,
  UnexpectedAnswerError,
  VectordError,
  type ErrorCode,
  type ErrorDetails,
} from './errors.js';
export type { Fetch, FetchInit, FetchResponse } from './http/caller.js';
export { ID_NAMESPACE, idFor } from './id-for.js';
export type {
  BulkOptions,
  CallOptions,
  CountOptions,
  Client,
  GetOptions,
  Retries,
  ScrollOptions,
  ScrollPageOptions,
  UpsertOptions,
} from './interface.js';
export type {
  BulkProgress,
  ContentType,
  Deleted,
  Got,
  Graph,
  Info,
  Limits,
  Filter,
  FilterIndex,
  FilterOperators,
  FilterValue,
  Metadata,
  MetadataOf,
  MetadataValue,
  NewPoint,
  Order,
  Page,
  Part,
  Point,
  PointUpdate,
  Query,
  QueryByPoint,
  QueryByVector,
  QueryOptions,
  SearchPart,
  Similarity,
  Updated,
  Upserted,
} from './model.js';
