import type { DropArgument, Server } from 'node:net';
import type { ConnectionStats } from '../observe/connection-stats.js';

/** So long a connection may be without a request that has a key when others want its place. */
const UNKEYED_WHEN_FULL_MS = 1_000;

/** How often all of them are looked at, and whether all places are taken. */
export const LOOK_INTERVAL_MS = 250;

/** A connection that has one of the places of its interface. */
export interface Holder {
  /** For how long it has been without a request that has a key; 0 while one is under way. */
  unkeyedMs(nowMs: number): number;
  /** Ends it. */
  giveWay(): void;
  /** Is called every so often, once all has been read that had arrived. */
  look?(nowMs: number, secondsSinceLast: number): void;
}

/**
 * The places that one interface has for connections. When all are taken the one gives way that has
 * been without a request that has a key for longest: who holds all of them and asks for nothing, or
 * only for what needs no key, keeps nobody out.
 */
export class Places<Connection extends Holder> implements Iterable<Connection> {
  readonly #holders = new Set<Connection>();
  /** When all had been read that had arrived: before, a request may only seem to be missing. */
  #readAtMs = performance.now();
  readonly #timer = setInterval(() => setImmediate(() => this.#look()), LOOK_INTERVAL_MS).unref();

  constructor(
    private readonly count: number,
    private readonly stats: ConnectionStats,
  ) {}

  /** Has a server that does not listen yet close connections that find no place. */
  bound(server: Server): void {
    server.maxConnections = this.count;
    server.on('drop', (dropped?: DropArgument) => {
      this.stats.noteClosed('no_place', dropped?.remoteAddress);
    });
  }

  get taken(): number {
    return this.#holders.size;
  }

  take(connection: Connection): void {
    this.#holders.add(connection);
    this.stats.open = this.#holders.size;
    this.#makeRoom();
  }

  leave(connection: Connection): void {
    this.#holders.delete(connection);
    this.stats.open = this.#holders.size;
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.#holders[Symbol.iterator]();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const nowMs = performance.now();
    const seconds = (nowMs - this.#readAtMs) / 1000;
    this.#readAtMs = nowMs;
    for (const holder of this.#holders) holder.look?.(nowMs, seconds);
    this.#makeRoom();
  }

  #makeRoom(): void {
    if (this.#holders.size < this.count) return;
    let longest: Connection | undefined;
    let mostMs = UNKEYED_WHEN_FULL_MS;
    for (const connection of this.#holders) {
      const ms = connection.unkeyedMs(this.#readAtMs);
      if (ms <= mostMs) continue;
      longest = connection;
      mostMs = ms;
    }
    longest?.giveWay();
  }
}
