import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What waits for the end of each connection: one listener, however many requests it carries. */
const waiting = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls `listener` once the request has been answered or its connection is gone. The response
 * alone does not tell: one that waits behind another on its connection is never closed.
 */
export function onRequestEnd(response: ServerResponse, listener: () => void): void {
  const { socket } = response.req;
  if (socket.destroyed) {
    listener();
    return;
  }
  const listeners = waiting.get(socket) ?? watch(socket);
  listeners.add(listener);
  response.once('close', () => {
    if (listeners.delete(listener)) listener();
  });
}

function watch(socket: Socket): Set<() => void> {
  const listeners = new Set<() => void>();
  waiting.set(socket, listeners);
  socket.once('close', () => {
    for (const listener of listeners) listener();
    listeners.clear();
  });
  return listeners;
}
