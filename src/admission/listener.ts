import { once } from 'node:events';
import { createServer, type AddressInfo, type DropArgument, type Socket } from 'node:net';

export interface ListenerOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Connections at one time; others are closed at once. */
  readonly maxConnections: number;
  /** Whether a client may close its side and still get its answer, as HTTP/1.1 allows. */
  readonly allowHalfOpen: boolean;
  /** Takes charge of a connection, which is not read before it is resumed. */
  readonly onConnection: (socket: Socket) => void;
  /** Hears of a connection that was closed because all places were taken. */
  readonly onRefused: (remoteAddress: string | undefined) => void;
}

/**
 * The port of one interface. It hands its connections to a server that does not listen itself: a
 * server of node:http or node:http2 serves each connection that is emitted to it.
 */
export interface Listener {
  /** The IP address that it is bound to. */
  readonly address: string;
  readonly port: number;
  /** Takes no new connections; those that it has handed on stay as they are. */
  close(): void;
}

/** Resolves once the port is open; rejects where it cannot be. */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { host, port, maxConnections, allowHalfOpen, onConnection, onRefused } = options;
  const server = createServer({ allowHalfOpen, noDelay: true, pauseOnConnect: true }, onConnection);
  server.maxConnections = maxConnections;
  server.on('drop', (dropped?: DropArgument) => onRefused(dropped?.remoteAddress));
  server.listen({ host, port });
  await once(server, 'listening');
  // Only a pipe has a text here.
  const bound = server.address() as AddressInfo;
  return { address: bound.address, port: bound.port, close: () => void server.close() };
}
