import type { Address } from '../address.js';
import { callable, printable, record } from '../checks.js';
import { transportTo } from '../failover.js';
import type { CallOptions, Client } from '../interface.js';
import { PointsClient } from '../points-client.js';
import type { Transport } from '../transport.js';
import type { Fetch } from './caller.js';
import { httpTransport } from './transport.js';

/** How a client speaks to a service; the deadline and the retries are those of calls without. */
export interface HttpConnectOptions extends Omit<CallOptions, 'signal'> {
  /** The API key. */
  readonly key?: string | undefined;
  /** What sends requests over HTTP; `fetch` of the platform unless told otherwise. */
  readonly fetch?: Fetch | undefined;
}

/** Throws an InvalidArgumentError if an option that every protocol has cannot be used. */
export function checkOptions(options: HttpConnectOptions): void {
  const { key, fetch } = record('options', options);
  if (key !== undefined) printable('key', key);
  if (fetch !== undefined) callable('fetch', fetch);
}

/** A client over HTTP, of one node or of several. */
export function connectHttp(
  addresses: readonly [Address, ...Address[]],
  { key, fetch = platformFetch, ...options }: HttpConnectOptions,
): Client {
  const isWatched = addresses.length > 1;
  const open = ({ target }: Address): Transport =>
    httpTransport({ base: target, key, fetch, isWatched });
  return new PointsClient(transportTo(addresses, open), options);
}

/** Taken when it is called: what stands in its place later is used, too. */
const platformFetch: Fetch = (url, init) => globalThis.fetch(url, init);
