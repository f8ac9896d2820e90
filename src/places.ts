import type { Server } from 'node:net';

/** So long a connection may be without a request when others want its place. */
const IDLE_WHEN_FULL_MS = 1_000;

/** How often it is looked whether all places are taken. */
const LOOK_INTERVAL_MS = 250;

/** A connection that has one of the places of its interface. */
export interface Holder {
  /** For how long it has been without a request; nothing while one is under way. */
  idleMs(nowMs: number): number;
  /** For how long, if those do not count that need no key and may go on for ever. */
  unkeyedMs?(nowMs: number): number;
  /** Ends it. */
  giveWay(): void;
}

/**
 * The places that one interface has for connections. When all are taken the connection that has
 * been without a request for longest gives way: who holds all of them, and asks for nothing, keeps
 * nobody out. Nor does, where there is no such connection, who only asks what needs no key.
 */
export class Places<Connection extends Holder> implements Iterable<Connection> {
  readonly #holders = new Set<Connection>();
  /** When all had been read that had arrived: before, a connection may only seem to be idle. */
  #readAtMs = performance.now();
  readonly #timer = setInterval(() => setImmediate(() => this.#look()), LOOK_INTERVAL_MS).unref();

  constructor(private readonly count: number) {}

  /** Has a server that does not listen yet close connections that find no place. */
  bound(server: Server): void {
    server.maxConnections = this.count;
  }

  take(connection: Connection): void {
    this.#holders.add(connection);
    this.#makeRoom();
  }

  leave(connection: Connection): void {
    this.#holders.delete(connection);
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.#holders[Symbol.iterator]();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    this.#readAtMs = performance.now();
    this.#makeRoom();
  }

  #makeRoom(): void {
    if (this.#holders.size < this.count) return;
    const nowMs = this.#readAtMs;
    const idlest =
      this.#longest((connection) => connection.idleMs(nowMs)) ??
      this.#longest((connection) => connection.unkeyedMs?.(nowMs) ?? 0);
    idlest?.giveWay();
  }

  #longest(msOf: (connection: Connection) => number): Connection | undefined {
    let longest: Connection | undefined;
    let mostMs = IDLE_WHEN_FULL_MS;
    for (const connection of this.#holders) {
      const ms = msOf(connection);
      if (ms <= mostMs) continue;
      longest = connection;
      mostMs = ms;
    }
    return longest;
  }
}
