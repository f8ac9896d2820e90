import { createServer, type RequestListener, type Server } from 'node:http';
import { Server as NetServer, type AddressInfo } from 'node:net';
import { createApp } from './app.js';
import { Connections } from './connections.js';
import { answerMalformedRequests } from './malformed.js';
import type { HttpOptions } from './options.js';
import { stopReadingWhenCut } from './parser.js';
import { Turns } from './turns.js';

/** Headers are a few hundred bytes: a client that takes longer for them holds the connection. */
const HEADERS_TIMEOUT_MS = 30_000;
/** Long enough for the largest request over a slow line, and an end to a body that trickles. */
const REQUEST_TIMEOUT_MS = 300_000;
/** How late, at most, the two timeouts above take hold. */
const TIMEOUT_CHECK_INTERVAL_MS = 5_000;
/** Longer than the 60 s after which common proxies let go, so that they are the ones to close. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** A client that does not read its answer gives its memory back after this long. */
const SOCKET_IDLE_TIMEOUT_MS = 300_000;
/** A key, a path and the headers that proxies add fit many times over. */
const MAX_HEADER_BYTES = 16 * 1024;
/**
 * How long a closing server leaves idle connections open: whoever sends requests all the time is
 * told with an answer that it was the last, and does not find the connection cut.
 */
const LAST_ANSWERS_MS = 200;
/** How often it looks for idle ones then. */
const CLOSE_INTERVAL_MS = 50;

export interface HttpServer {
  /** The IP address that the server is bound to. */
  readonly address: string;
  readonly port: number;
  /** Takes no new connections, answers what is under way, and cuts what is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Starts the HTTP interface; resolves once it listens, rejects when it cannot. */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const server = createServer({
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // The app answers a missing Host itself, with a text that says so.
    requireHostHeader: false,
  });
  server.timeout = SOCKET_IDLE_TIMEOUT_MS;
  const connections = new Connections(
    options.maxConnections,
    options.strangers,
    options.connectionStats,
  );
  connections.watch(server);
  stopReadingWhenCut(server);

  const turns = new Turns(createApp(options).callback(), options.pace);
  const take: RequestListener = (request, response) => {
    connections.noteRequest(response);
    turns.take(request, response);
  };
  server.on('request', take);
  // The app itself says 100 Continue, once it knows that it wants the body.
  server.on('checkContinue', take);
  server.on('checkExpectation', take);
  answerMalformedRequests(server, (status) => options.metrics.countMalformed(status));

  const { address, port } = await listen(server, options);
  return {
    address,
    port,
    async close(graceMs) {
      await close(server, turns, connections, graceMs);
      connections.close();
    },
  };
}

function listen(server: Server, { host, port }: HttpOptions): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('no TCP address'));
      else resolve(address);
    });
  });
}

async function close(
  server: Server,
  turns: Turns,
  connections: Connections,
  graceMs: number,
): Promise<void> {
  if (!server.listening) return;
  turns.close();
  const sweepFromMs = performance.now() + Math.min(LAST_ANSWERS_MS, graceMs);
  const sweep = setInterval(() => {
    if (performance.now() < sweepFromMs) return;
    server.closeIdleConnections();
    connections.closeSilent();
  }, CLOSE_INTERVAL_MS);
  const force = setTimeout(() => server.closeAllConnections(), graceMs);
  // That of node:http would cut idle connections at once.
  await new Promise((resolve) => NetServer.prototype.close.call(server, resolve));
  clearInterval(sweep);
  clearTimeout(force);
}
