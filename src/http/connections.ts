import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Places, type Holder } from '../places.js';

/** Kept on the socket itself, as in request-end.ts. */
const CONNECTION = Symbol('connection');

type Watched = Socket & { [CONNECTION]?: Connection };

/** All connections of the HTTP interface, and which of them wait for an answer. */
export class Connections {
  readonly #places: Places<Connection>;

  constructor(maxConnections: number) {
    this.#places = new Places(maxConnections);
  }

  /** Takes charge of the connections of a server that does not listen yet. */
  watch(server: Server): void {
    this.#places.bound(server);
    server.on('connection', (socket: Watched) => {
      const connection = new Connection(socket);
      socket[CONNECTION] = connection;
      socket.once('close', () => this.#places.leave(connection));
      this.#places.take(connection);
    });
  }

  /** Notes a request, which is under way until its answer has gone out. */
  noteRequest(response: ServerResponse): void {
    const { [CONNECTION]: connection }: Watched = response.req.socket;
    if (connection === undefined) return;
    connection.begin();
    response.once('close', noteEnd);
  }

  close(): void {
    this.#places.close();
  }
}

function noteEnd(this: ServerResponse): void {
  const { [CONNECTION]: connection }: Watched = this.req.socket;
  connection?.end();
}

/** One connection of a client, which may have sent several requests without waiting. */
class Connection implements Holder {
  #underWay = 0;
  #idleFromMs = performance.now();

  constructor(private readonly socket: Socket) {}

  begin(): void {
    this.#underWay += 1;
  }

  end(): void {
    this.#underWay -= 1;
    this.#idleFromMs = performance.now();
  }

  idleMs(nowMs: number): number {
    return this.#underWay > 0 ? 0 : nowMs - this.#idleFromMs;
  }

  giveWay(): void {
    this.socket.destroy();
  }
}
