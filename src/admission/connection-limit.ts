import type { ConnectionStats } from '../observe/connection-stats.js';

/** When all places are taken, a connection that was without a keyed request for so long is evicted. */
const EVICTABLE_AFTER_MS = 1_000;
/** How often all connections are looked at. */
export const LOOK_INTERVAL_MS = 250;

/** A connection that takes one of the places of its interface. */
export interface LimitedConnection {
  /** For how long no request with a key was under way; 0 while one is. */
  unkeyedMs(nowMs: number): number;
  /** Closes it, so that another can have its place. */
  evict(): void;
  /** Is called at each look. */
  look?(nowMs: number, secondsSinceLast: number): void;
}

/**
 * The connections of one interface, `most` of them at one time. When all places are taken, the
 * connection that was longest without a request with a key is evicted: a client that holds all
 * places, and asks for nothing or only for what needs no key, keeps nobody out.
 */
export class ConnectionLimit<Connection extends LimitedConnection> implements Iterable<Connection> {
  readonly #connections = new Set<Connection>();
  #lookedAtMs = performance.now();
  /** Looks after the events of a turn of the loop, so that requests that have arrived count. */
  readonly #timer = setInterval(() => setImmediate(() => this.#look()), LOOK_INTERVAL_MS).unref();

  constructor(
    readonly most: number,
    private readonly stats: ConnectionStats,
  ) {}

  get count(): number {
    return this.#connections.size;
  }

  add(connection: Connection): void {
    this.#connections.add(connection);
    this.stats.open = this.#connections.size;
    this.#evictOne();
  }

  remove(connection: Connection): void {
    this.#connections.delete(connection);
    this.stats.open = this.#connections.size;
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.#connections[Symbol.iterator]();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const nowMs = performance.now();
    const seconds = (nowMs - this.#lookedAtMs) / 1000;
    this.#lookedAtMs = nowMs;
    for (const connection of this.#connections) connection.look?.(nowMs, seconds);
    this.#evictOne();
  }

  /** Keeps one place free for the next client. */
  #evictOne(): void {
    if (this.#connections.size < this.most) return;
    let idlest: Connection | undefined;
    let mostMs = EVICTABLE_AFTER_MS;
    for (const connection of this.#connections) {
      const ms = connection.unkeyedMs(this.#lookedAtMs);
      if (ms <= mostMs) continue;
      idlest = connection;
      mostMs = ms;
    }
    idlest?.evict();
  }
}
