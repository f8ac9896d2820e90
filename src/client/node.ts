/// <reference types="node" preserve="true" />
/**
 * The client of a vectord service: `connect` opens one over gRPC or HTTP, with one interface.
 *
 * @module vectord
 */
import { parseAddresses, type Address } from './address.js';
import { InvalidArgumentError } from './errors.js';
import { transportTo } from './failover.js';
import { certificatesOf, type Tls } from './grpc/credentials.js';
import { grpcTransport } from './grpc/transport.js';
import { checkOptions, connectHttp, type HttpConnectOptions } from './http/connect.js';
import type { Client } from './interface.js';
import { PointsClient } from './points-client.js';
import type { Transport } from './transport.js';

/** How a client speaks to a service; the deadline and the retries are those of calls without. */
export interface ConnectOptions extends HttpConnectOptions {
  /**
   * What `grpcs://` trusts and shows. Over `https://` it is refused: `fetch` of Node.js takes no
   * certificates. There the variable NODE_EXTRA_CA_CERTS names a file of those that all of the process
   * trusts, or the option `fetch` is one that takes them, such as that of the package undici.
   */
  readonly tls?: Tls | undefined;
}

/**
 * A client of the service at `address`: over HTTP at `http://` and `https://`, over gRPC at `grpc://`
 * and `grpcs://`. The one with an s is by TLS. It connects with the first call, and again whenever the
 * connection is lost. Of several addresses, those of the nodes of a cluster, it uses one, and goes on to
 * the next where nobody answers there, or the node is frozen or not ready. Throws an
 * InvalidArgumentError if an address or an option cannot be used.
 */
export function connect(address: string | readonly string[], options: ConnectOptions = {}): Client {
  const addresses = parseAddresses(address);
  checkOptions(options);
  const { tls, ...rest } = options;
  const [{ protocol, isSecure }] = addresses;
  if (tls !== undefined && protocol === 'http' && isSecure) {
    const expected =
      'certificates in the file that NODE_EXTRA_CA_CERTS names, or a `fetch` with them';
    throw new InvalidArgumentError(`tls is given for ${address}, expected ${expected}`);
  }
  if (tls !== undefined && !isSecure) {
    throw new InvalidArgumentError(`tls is given for ${address}, expected an address by TLS`);
  }
  if (protocol === 'http') return connectHttp(addresses, rest);
  const { key, ...calls } = rest;
  const secured = isSecure ? certificatesOf(tls ?? {}) : undefined;
  const isWatched = addresses.length > 1;
  const open = ({ target }: Address): Transport =>
    grpcTransport({ target, key, tls: secured, isWatched });
  return new PointsClient(transportTo(addresses, open), calls);
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
export type { Tls } from './grpc/credentials.js';
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
