import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What node:http itself ends by time. */
export interface TimeLimits {
  /** Headers are a few hundred bytes: a client that takes longer for them holds the connection. */
  readonly headersTimeout: number;
  /** Long enough for the largest request over a slow line, and an end to a body that trickles. */
  readonly requestTimeout: number;
  /** How late, at most, the two above take hold. */
  readonly connectionsCheckingInterval: number;
  /** Longer than the 60 s after which common proxies let go, so that they are the ones to close. */
  readonly keepAliveTimeout: number;
  /** A client that does not read its answer gives its memory back after this long. */
  readonly timeout: number;
}

export const TIME_LIMITS: TimeLimits = {
  headersTimeout: 30_000,
  requestTimeout: 300_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 65_000,
  timeout: 300_000,
};

/** A key, a path and the headers that proxies add fit many times over. */
const MAX_HEADER_BYTES = 16 * 1024;

/**
 * A server of node:http that waits for no client longer than that. It has no port of its own: it
 * serves the connections that are emitted to it.
 */
export function createTimedServer({ timeout, ...limits }: TimeLimits = TIME_LIMITS): Server {
  const server = createServer({
    ...limits,
    maxHeaderSize: MAX_HEADER_BYTES,
    // The app answers a missing Host itself, with a text that says so.
    requireHostHeader: false,
  });
  server.timeout = timeout;
  // Otherwise node drops the request of a client that ends its half of the connection behind it, which
  // HTTP/1.1 allows. The property has no type: protocol.test.ts fails where it does nothing.
  Object.assign(server, { httpAllowHalfOpen: true });
  // From then on it checks the times of its connections; it will never listen itself. That it begins
  // with this event is known by experience only: time-limits.test.ts fails where it does not.
  server.emit('listening');
  return server;
}

/**
 * Calls `close` where the client has read nothing of its answer for the `timeout` of the server.
 * While an answer is computed there is nothing to read: node:http would close the connection then.
 */
export function limitUnreadAnswer(response: ServerResponse, close: (socket: Socket) => void): void {
  response.on('timeout', (socket) => {
    if (socket.writableLength > 0) close(socket);
  });
}
