import type { Server, ServerResponse } from 'node:http';
import type { DropArgument, Socket } from 'node:net';
import type { CloseReason, ConnectionStats } from '../observe/connection-stats.js';
import { ConnectionLimit, type LimitedConnection } from '../admission/connection-limit.js';
import type { Stranger, Strangers } from '../admission/strangers.js';
import { limitUnreadAnswer } from './time-limits.js';

/** Kept on the socket itself, as in request-end.ts. */
const CONNECTION = Symbol('connection');

type Watched = Socket & { [CONNECTION]?: Connection };

/** All connections of the HTTP interface, and who asks on them. */
export class Connections {
  readonly #limit: ConnectionLimit<Connection>;

  constructor(
    private readonly maxConnections: number,
    private readonly strangers: Strangers,
    private readonly stats: ConnectionStats,
  ) {
    this.#limit = new ConnectionLimit<Connection>(maxConnections, stats, () => undefined);
  }

  /** Takes charge of the connections of a server that does not listen yet. */
  watch(server: Server): void {
    server.maxConnections = this.maxConnections;
    server.on('drop', (dropped?: DropArgument) => {
      this.stats.noteClosed('no_place', dropped?.remoteAddress);
    });
    server.on('connection', (socket: Watched) => {
      const connection = new Connection(socket, this.strangers.meet(socket), this.stats);
      socket[CONNECTION] = connection;
      socket.once('close', () => this.#limit.remove(connection));
      this.#limit.add(connection);
    });
  }

  /** Notes a request, of whoever, which is under way until its answer has gone out. */
  noteRequest(response: ServerResponse): void {
    const { [CONNECTION]: connection }: Watched = response.req.socket;
    if (connection === undefined) return;
    connection.noteHeard();
    response.once('close', noteEnd);
    limitUnreadAnswer(response, () => connection.close('timeout'));
  }

  /** Closes those on which nothing has come yet, which node takes for a request under way. */
  closeSilent(): void {
    for (const connection of this.#limit) connection.closeIfSilent();
  }

  close(): void {
    this.#limit.close();
  }
}

/** Closes the connection of a request, which is counted and logged with the reason. */
export function closeConnection(socket: Watched, reason: CloseReason): void {
  socket[CONNECTION]?.close(reason);
}

/** Notes that the request under way on a connection has a key. */
export function noteKey(socket: Watched): void {
  socket[CONNECTION]?.noteKey();
}

function noteEnd(this: ServerResponse): void {
  const { [CONNECTION]: connection }: Watched = this.req.socket;
  connection?.noteEnd();
}

/** One connection of a client, which may have sent several requests without waiting. */
class Connection implements LimitedConnection {
  /** Whether the request under way has a key; of several one is answered after the other. */
  #isKeyed = false;
  #keyedAtMs = performance.now();

  constructor(
    private readonly socket: Socket,
    private readonly stranger: Stranger,
    private readonly stats: ConnectionStats,
  ) {}

  get hasKey(): boolean {
    return this.stranger.isKnown;
  }

  noteHeard(): void {
    this.stranger.noteHeard();
  }

  noteKey(): void {
    this.#isKeyed = true;
    this.stranger.noteKey();
  }

  noteEnd(): void {
    if (this.#isKeyed) this.#keyedAtMs = performance.now();
    this.#isKeyed = false;
  }

  unkeyedMs(nowMs: number): number {
    return this.#isKeyed ? 0 : nowMs - this.#keyedAtMs;
  }

  closeIfSilent(): void {
    if (this.socket.bytesRead === 0) this.socket.destroy();
  }

  evict(): void {
    this.close('gave_way');
  }

  close(reason: CloseReason): void {
    if (this.socket.destroyed) return;
    this.stats.noteClosed(reason, this.socket.remoteAddress);
    this.socket.destroy();
  }
}
