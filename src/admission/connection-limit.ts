import type { Socket } from 'node:net';
import type { ConnectionStats } from '../observe/connection-stats.js';
import type { Handshakes } from './handshakes.js';
import type { IsTrusted } from './trusted-proxies.js';

/**
 * Connections that have not shown a key yet, and are read nevertheless. The loop reads up to 64 KiB
 * of each connection before it does anything else, and these can be thousands of requests, 25 MiB
 * for each connection. Others wait unread in the meantime.
 */
const MAX_NEWCOMERS = 8;

/**
 * How long no new connection is read after one without a key has ended, for each request that was
 * read of it: what was made of it is garbage, which takes long to be collected.
 */
const REST_MS_PER_REQUEST = 0.1;
/** The longest rest after many of them, shorter than a client waits. */
const MAX_REST_MS = 2_000;

/** How long a connection waits unread: its client tries again, or has gone. */
const MAX_WAIT_MS = 5_000;

/** When others wait for its place, a connection that was without a keyed request for so long is evicted. */
const EVICTABLE_AFTER_MS = 1_000;
/** How often all connections are looked at. */
export const LOOK_INTERVAL_MS = 250;

/** A connection that takes one of the places of its interface. */
export interface LimitedConnection {
  /** Whether it has ever had a request with a key. */
  readonly hasKey: boolean;
  /** Requests that were read of it so far, those that were reset included. */
  readonly requests: number;
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
  readonly #connections = new Set<Connection | Handshake>();
  /** Accepted and not read yet, in the order in which they came, with the time of that. */
  readonly #waiting = new Map<Socket, number>();
  #lookedAtMs = performance.now();
  #restsUntilMs = 0;
  /** Looks after the events of a turn of the loop, so that requests that have arrived count. */
  readonly #timer = setInterval(() => setImmediate(() => this.#look()), LOOK_INTERVAL_MS).unref();

  constructor(
    private readonly most: number,
    private readonly stats: ConnectionStats,
    /** Begins to serve a connection, which then is added. */
    private readonly serve: (socket: Socket) => void,
    /** What comes before that, where the interface has TLS. */
    private readonly handshakes: Handshakes | undefined,
    private readonly isTrusted: IsTrusted,
  ) {}

  /** Takes charge of a new connection, which is not read yet. */
  take(socket: Socket): void {
    if (this.isTrusted(socket)) this.#begin(socket);
    else this.#wait(socket);
    if (this.#count >= this.most) this.#evictIdlest(always);
  }

  #wait(socket: Socket): void {
    this.#waiting.set(socket, performance.now());
    socket.once('close', () => this.#waiting.delete(socket));
    this.admit();
  }

  add(connection: Connection | Handshake): void {
    this.#connections.add(connection);
    this.stats.open = this.#connections.size;
  }

  remove(connection: Connection | Handshake): void {
    this.#connections.delete(connection);
    this.stats.open = this.#connections.size;
    if (connection.hasKey) return;
    const nowMs = performance.now();
    const restMs = connection.requests * REST_MS_PER_REQUEST;
    const untilMs = Math.max(this.#restsUntilMs, nowMs) + restMs;
    this.#restsUntilMs = Math.min(untilMs, nowMs + MAX_REST_MS);
  }

  /**
   * Serves those that wait, as far as there may be more without a key. The place of a connection that
   * was closed is given at the next look, when its memory is free again.
   */
  admit(): void {
    if (this.#waiting.size === 0 || performance.now() < this.#restsUntilMs) return;
    let newcomers = 0;
    for (const { hasKey } of this.#connections) if (!hasKey) newcomers += 1;
    for (const socket of this.#waiting.keys()) {
      if (newcomers >= MAX_NEWCOMERS) return;
      newcomers += 1;
      this.#waiting.delete(socket);
      this.#begin(socket);
    }
  }

  *[Symbol.iterator](): Iterator<Connection> {
    for (const one of this.#connections) if (!(one instanceof Handshake)) yield one;
  }

  /** Drops those that are not served yet. */
  close(): void {
    clearInterval(this.#timer);
    for (const socket of this.#waiting.keys()) socket.destroy();
    for (const one of this.#connections) {
      if (!(one instanceof Handshake)) continue;
      this.remove(one);
      one.socket.destroy();
    }
  }

  #begin(socket: Socket): void {
    if (this.handshakes === undefined) {
      this.serve(socket);
      return;
    }
    const handshake = new Handshake(socket, this.isTrusted(socket), this.stats);
    this.add(handshake);
    socket.once('close', () => this.remove(handshake));
    this.handshakes.begin(socket, (secured) => {
      this.remove(handshake);
      this.serve(secured);
    });
  }

  get #count(): number {
    return this.#connections.size + this.#waiting.size;
  }

  #look(): void {
    const nowMs = performance.now();
    const seconds = (nowMs - this.#lookedAtMs) / 1000;
    this.#lookedAtMs = nowMs;
    for (const connection of this) connection.look?.(nowMs, seconds);
    this.#dropLate(nowMs);
    for (let wanted = this.#waiting.size; wanted > 0; wanted -= 1) {
      if (!this.#evictIdlest(({ hasKey }) => !hasKey)) break;
    }
    // One place is kept free for the next client.
    if (this.#count >= this.most) this.#evictIdlest(always);
    this.admit();
  }

  #dropLate(nowMs: number): void {
    for (const [socket, sinceMs] of this.#waiting) {
      if (nowMs - sinceMs < MAX_WAIT_MS) return;
      this.stats.noteClosed('no_place', socket.remoteAddress);
      socket.destroy();
      this.#waiting.delete(socket);
    }
  }

  /** Evicts the idlest of the connections that may be evicted; answers whether there was one. */
  #evictIdlest(mayBe: (connection: LimitedConnection) => boolean): boolean {
    let idlest: Connection | Handshake | undefined;
    let mostMs = EVICTABLE_AFTER_MS;
    for (const connection of this.#connections) {
      const ms = connection.unkeyedMs(this.#lookedAtMs);
      if (ms <= mostMs || !mayBe(connection)) continue;
      idlest = connection;
      mostMs = ms;
    }
    if (idlest === undefined) return false;
    this.#connections.delete(idlest);
    this.stats.open = this.#connections.size;
    idlest.evict();
    return true;
  }
}

/** A connection before both sides of TLS are sure of each other: it counts like any without a key. */
class Handshake implements LimitedConnection {
  /** What a handshake costs, in requests. */
  readonly requests = 10;
  readonly #begunAtMs = performance.now();

  constructor(
    readonly socket: Socket,
    /** What comes of a trusted proxy counts like a connection with a key. */
    readonly hasKey: boolean,
    private readonly stats: ConnectionStats,
  ) {}

  unkeyedMs(nowMs: number): number {
    return this.hasKey ? 0 : nowMs - this.#begunAtMs;
  }

  evict(): void {
    this.stats.noteClosed('gave_way', this.socket.remoteAddress);
    this.socket.destroy();
  }
}

function always(): boolean {
  return true;
}
