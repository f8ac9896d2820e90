import type { RequestListener, Server } from 'node:http';
import { Server as NetServer, type AddressInfo } from 'node:net';
import type { Clock } from '../core/clock.js';
import { createApp } from './app.js';
import { Connections } from './connections.js';
import { answerMalformedRequests } from './malformed.js';
import type { HttpOptions } from './options.js';
import { stopReadingWhenCut } from './parser.js';
import { createTimedServer } from './time-limits.js';
import { Turns } from './turns.js';

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
  const server = createTimedServer();
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
      await close(server, turns, connections, graceMs, options.clock);
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
  clock: Clock,
): Promise<void> {
  if (!server.listening) return;
  turns.close();
  const sweepFromMs = clock.nowMs() + Math.min(LAST_ANSWERS_MS, graceMs);
  const endSweeping = clock.every(CLOSE_INTERVAL_MS, () => {
    if (clock.nowMs() < sweepFromMs) return;
    server.closeIdleConnections();
    connections.closeSilent();
  });
  const endGrace = clock.after(graceMs, () => server.closeAllConnections());
  // That of node:http would cut idle connections at once.
  // oxlint-disable-next-line no-restricted-properties -- server.close would cut connections
  await new Promise((resolve) => NetServer.prototype.close.call(server, resolve));
  endSweeping();
  endGrace();
}
