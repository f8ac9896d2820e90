import { wrong } from './checks.js';
import { InvalidArgumentError } from './errors.js';

const EXPECTED = 'an address such as http://127.0.0.1:3000 or grpc://127.0.0.1:50051';

/** The port of gRPC where an address names none. */
const GRPC_PORT = '50051';

/** Where a service is. */
export interface Address {
  readonly protocol: 'http' | 'grpc';
  readonly isSecure: boolean;
  /** Over HTTP where `/v1` begins, without a slash at the end; over gRPC `host:port`. */
  readonly target: string;
}

/**
 * The addresses of the nodes of one service, at least one, all of one protocol. Throws an
 * InvalidArgumentError for others.
 */
export function parseAddresses(given: string | readonly string[]): [Address, ...Address[]] {
  if (typeof given === 'string') return [parseAddress(given)];
  if (!Array.isArray(given)) throw wrong('address', given, `${EXPECTED}, or an array of these`);
  const [first, ...others] = Array.from(given as readonly string[], parseAddress);
  if (first === undefined) throw new InvalidArgumentError(`address is empty, expected ${EXPECTED}`);
  for (const [at, { protocol, isSecure }] of others.entries()) {
    if (protocol === first.protocol && isSecure === first.isSecure) continue;
    const expected = 'the protocol of the first: all are nodes of one service';
    throw wrong(`address[${at + 1}]`, given[at + 1], expected);
  }
  return [first, ...others];
}

/** Throws an InvalidArgumentError for what is no address of a service. */
function parseAddress(address: string): Address {
  const url = typeof address === 'string' && URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || url.host === '' || hasMore(url)) {
    throw wrong('address', withoutUser(address), EXPECTED);
  }
  const { protocol, host, pathname } = url;
  switch (protocol) {
    case 'http:':
    case 'https:': {
      const target = `${protocol}//${host}${pathname.replace(/\/+$/, '')}`;
      return { protocol: 'http', isSecure: protocol === 'https:', target };
    }
    case 'grpc:':
    case 'grpcs:': {
      if (pathname.length > 1) throw wrong('address', address, `${EXPECTED}, without a path`);
      const target = url.port === '' ? `${host}:${GRPC_PORT}` : host;
      return { protocol: 'grpc', isSecure: protocol === 'grpcs:', target };
    }
    default:
      throw wrong('address', address, EXPECTED);
  }
}

/** An address as messages show it: what stands before an @ may be a secret. */
function withoutUser(address: unknown): unknown {
  return typeof address === 'string' ? address.replace(/[^/]*@/, '...@') : address;
}

/** Whether an address has what would be dropped; a key in it would be easy to log. */
function hasMore({ username, password, search, hash }: URL): boolean {
  return `${username}${password}${search}${hash}` !== '';
}
