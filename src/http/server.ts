import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Accepted } from '../engine/acceptor.js';
import type { Clock } from '../core/clock.js';
import { createApp } from './app.js';
import { answering, closeConnection, Connections } from './connections.js';
import { answerMalformedRequests } from './malformed.js';
import type { HttpOptions } from './options.js';
import { createTimedServer } from './time-limits.js';

/**
 * How long a closing server leaves idle connections open: a client that sends requests all the time
 * is told with an answer that it was the last, and does not find the connection cut.
 */
const LAST_ANSWERS_MS = 200;
/** How often it looks for idle ones then. */
const CLOSE_INTERVAL_MS = 50;

/** The HTTP interface of one loop, which has no port: its connections are handed to it. */
export interface Http {
  /** Serves a new connection. */
  take(accepted: Accepted): void;
  /** Answers what is under way, and cuts what is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

export function createHttp(options: HttpOptions): Http {
  const handle = createApp(options).callback();
  const server = createTimedServer();
  const serve = (socket: Socket): void => void server.emit('connection', socket);
  const connections = new Connections(options.admission, handle, serve);
  server.on('connection', (socket) => connections.add(socket));
  const take: RequestListener = (request, response) => connections.takeRequest(request, response);
  server.on('request', take);
  // The app itself says 100 Continue, once it knows that it wants the body.
  server.on('checkContinue', take);
  server.on('checkExpectation', take);
  answerMalformedRequests(server, {
    answering,
    close: closeConnection,
    onAnswer: options.onMalformed,
  });
  return {
    take: (accepted) => connections.take(accepted),
    close: async (graceMs) => await close(server, connections, graceMs, options.clock),
  };
}

async function close(
  server: Server,
  connections: Connections,
  graceMs: number,
  clock: Clock,
): Promise<void> {
  const sweepFromMs = clock.nowMs() + Math.min(LAST_ANSWERS_MS, graceMs);
  const endSweeping = clock.every(CLOSE_INTERVAL_MS, () => {
    if (clock.nowMs() < sweepFromMs) return;
    server.closeIdleConnections();
    connections.closeSilent();
  });
  const endGrace = clock.after(graceMs, () => connections.closeAll());
  await connections.end();
  endSweeping();
  endGrace();
  // It has no port, but a timer that looks at its connections.
  server.close();
}
