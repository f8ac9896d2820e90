import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * What waits for the end of a connection or of one request on it: of each, one listener does for
 * all. Kept on the object itself, because a WeakMap of short-lived ones weighs on each collection.
 */
const LISTENERS = Symbol('listeners');

type Listeners = Set<() => void>;
type Watched<Emitter> = Emitter & { [LISTENERS]?: Listeners };

/**
 * Calls `listener` once the request has been answered or its connection is gone. The response
 * alone does not tell: one that waits behind another on its connection is never closed.
 */
export function onRequestEnd(response: Watched<ServerResponse>, listener: () => void): void {
  if (response.req.socket.destroyed) listener();
  else (response[LISTENERS] ?? watch(response)).add(listener);
}

function watch(response: Watched<ServerResponse>): Listeners {
  const socket: Watched<Socket> = response.req.socket;
  const ofSocket = socket[LISTENERS] ?? watchSocket(socket);
  const listeners: Listeners = new Set();
  const end = (): void => {
    ofSocket.delete(end);
    for (const listener of listeners) listener();
    listeners.clear();
  };
  response[LISTENERS] = listeners;
  ofSocket.add(end);
  response.once('close', end);
  return listeners;
}

function watchSocket(socket: Watched<Socket>): Listeners {
  const listeners: Listeners = new Set();
  socket[LISTENERS] = listeners;
  socket.once('close', () => {
    for (const listener of listeners) listener();
  });
  return listeners;
}
