import type { Socket } from 'node:net';
import type { Accepted } from '../engine/acceptor.js';
import type { CloseReason, ConnectionStats } from '../observe/connection-stats.js';
import type { Handshakes } from './handshakes.js';
import type { IsTrusted } from './trusted-proxies.js';

/**
 * Connections that have not shown a key yet, and are served nevertheless, on all loops of the process
 * together. A loop reads up to 64 KiB of each connection before it does anything else, and these can
 * be thousands of requests, 25 MiB for each connection. Others wait in the meantime.
 */
const MAX_NEWCOMERS = 6;
/**
 * A loop reads at least so many, since the first may be a client that takes its time, and at most as
 * many as hold it for a quarter of a second together.
 */
const MIN_NEWCOMERS_OF_LOOP = 2;
const MAX_NEWCOMERS_OF_LOOP = 3;

/**
 * How long no new connection is served after one without a key has ended, for each request that was
 * read of it: what was made of it is garbage, which takes long to be collected.
 */
const REST_MS_PER_REQUEST = 0.1;
/** The longest rest after many of them, shorter than a client waits. */
const MAX_REST_MS = 2_000;

/** How long nothing may come on a new connection, as long as HTTP gives headers. */
const MAX_SILENCE_MS = 30_000;
/** How long a connection waits to be served: its client tries again, or has gone. */
const MAX_WAIT_MS = 5_000;

/**
 * When others wait for its place, a connection that has been without a keyed request for longer is
 * evicted: one whose client has shown a key may be kept for its next call, as long as HTTP keeps idle
 * ones, and gives way after all that have shown none.
 */
const EVICTABLE_AFTER_MS = { unkeyed: 1_000, keyed: 65_000 } as const;
/** How often all connections are looked at. */
export const CHECK_INTERVAL_MS = 250;

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
  /** Is called at each check. */
  check?(nowMs: number, secondsSinceLast: number): void;
}

/** How the connections of one interface come in. */
export interface Admission {
  /** Whether all places of the interface are taken, on whichever loop. */
  readonly isFull: () => boolean;
  /** The loops that share the interface. */
  readonly loops: number;
  readonly stats: ConnectionStats;
  /** What comes before a connection is served, where the interface has TLS. */
  readonly handshakes: Handshakes | undefined;
  readonly isTrusted: IsTrusted;
}

/**
 * The connections of one interface on one loop. When all places of the interface are taken, the
 * connection that was longest without a request with a key is evicted: a client that holds all
 * places, and asks for nothing or only for what needs no key, keeps nobody out, and takes no place of
 * one whose key was accepted a short time ago.
 */
export class ConnectionLimit<Connection extends LimitedConnection> implements Iterable<Connection> {
  readonly #connections = new Set<Connection | Unserved>();
  /** Those of them that wait to be served, in their order. */
  readonly #waiting = new Set<Unserved>();
  readonly #maxNewcomers: number;
  #checkedAtMs = performance.now();
  #restsUntilMs = 0;
  /** Ends the rest, where somebody waits for its end. */
  #restEnd: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Looks after the events of a turn of the loop, so that requests that have arrived count. */
  readonly #timer = setInterval(() => setImmediate(() => this.#check()), CHECK_INTERVAL_MS).unref();

  constructor(
    private readonly admission: Admission,
    /** Begins to serve a connection, which then is added. */
    private readonly serve: (socket: Socket) => void,
    /** Whether a client may close its side and still get its answer, as HTTP/1.1 allows. */
    private readonly allowHalfOpen: boolean,
    /**
     * Whether a connection on which nothing has come yet waits for that, and not to be served: clients
     * of HTTP/1.1 open connections ahead, or for a request that they give up.
     */
    private readonly awaitsBytes: boolean,
  ) {
    const share = Math.floor(MAX_NEWCOMERS / admission.loops);
    const atLeast = Math.max(MIN_NEWCOMERS_OF_LOOP, share);
    this.#maxNewcomers = Math.min(MAX_NEWCOMERS_OF_LOOP, atLeast);
  }

  /** Takes charge of a new connection. */
  take(accepted: Accepted): void {
    if (this.#isClosed) accepted.close();
    else this.#receive(accepted);
    if (this.admission.isFull()) this.#evictIdlest(always);
  }

  add(connection: Connection): void {
    this.#connections.add(connection);
    this.#noteOpen();
  }

  /** Notes that a connection has ended. */
  remove(connection: Connection): void {
    this.#connections.delete(connection);
    this.#noteOpen();
    this.#restAfter(connection);
    this.admit();
  }

  #restAfter(connection: Connection | Unserved): void {
    if (connection.hasKey) return;
    const nowMs = performance.now();
    const restMs = connection.requests * REST_MS_PER_REQUEST;
    const untilMs = Math.max(this.#restsUntilMs, nowMs) + restMs;
    this.#restsUntilMs = Math.min(untilMs, nowMs + MAX_REST_MS);
  }

  /** Serves those that wait, as far as there may be more without a key, at the end of a rest. */
  admit(): void {
    if (this.#waiting.size === 0) return;
    const restMs = this.#restsUntilMs - performance.now();
    if (restMs > 0) {
      this.#restEnd ??= setTimeout(() => {
        this.#restEnd = undefined;
        this.admit();
      }, restMs).unref();
      return;
    }
    let newcomers = 0;
    for (const connection of this.#connections) if (isNewcomer(connection)) newcomers += 1;
    for (const one of this.#waiting) {
      if (newcomers >= this.#maxNewcomers) return;
      newcomers += 1;
      this.#begin(one);
    }
  }

  *[Symbol.iterator](): Iterator<Connection> {
    for (const one of this.#connections) if (!(one instanceof Unserved)) yield one;
  }

  /** Drops those that are not served yet, and those that are still to come. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    clearTimeout(this.#restEnd);
    for (const one of this.#connections) {
      if (!(one instanceof Unserved)) continue;
      this.#leave(one);
      one.cut();
    }
  }

  #receive(accepted: Accepted): void {
    const { isTrusted, stats } = this.admission;
    const one = new Unserved(accepted, isTrusted(accepted), stats);
    this.#connections.add(one);
    this.#noteOpen();
    if (one.hasKey) this.#begin(one);
    else if (this.awaitsBytes) this.#awaitBytes(one);
    else this.#wait(one);
  }

  #awaitBytes(one: Unserved): void {
    const socket = this.#open(one);
    socket?.once('readable', () => {
      // Its client has ended it, or it has been closed.
      if (socket.readableLength === 0) socket.destroy();
      else this.#wait(one);
    });
  }

  #wait(one: Unserved): void {
    one.enter('waiting');
    this.#waiting.add(one);
    this.admit();
  }

  #begin(one: Unserved): void {
    this.#waiting.delete(one);
    const socket = this.#open(one);
    if (socket === undefined) return;
    const serve = (served: Socket): void => {
      this.#leave(one);
      this.serve(served);
    };
    const { handshakes } = this.admission;
    if (handshakes === undefined) serve(socket);
    else {
      one.enter('handshake');
      handshakes.begin(socket, serve);
    }
  }

  #open(one: Unserved): Socket | undefined {
    if (one.socket !== undefined) return one.socket;
    const socket = one.open(this.allowHalfOpen);
    if (socket === undefined) {
      this.#leave(one);
      return undefined;
    }
    socket.on('error', () => socket.destroy());
    return socket.once('close', () => {
      if (!this.#leave(one)) return;
      this.#restAfter(one);
      this.admit();
    });
  }

  /** Answers whether it was there until now. */
  #leave(one: Unserved): boolean {
    const wasThere = this.#connections.delete(one);
    this.#waiting.delete(one);
    this.#noteOpen();
    return wasThere;
  }

  #noteOpen(): void {
    this.admission.stats.open = this.#connections.size;
  }

  #check(): void {
    const nowMs = performance.now();
    const seconds = (nowMs - this.#checkedAtMs) / 1000;
    this.#checkedAtMs = nowMs;
    for (const connection of this.#connections) {
      connection.check?.(nowMs, seconds);
      if (connection instanceof Unserved && connection.isCut) this.#leave(connection);
    }
    for (let wanted = this.#waiting.size; wanted > 0; wanted -= 1) {
      if (!this.#evictIdlest(isNewcomer)) break;
    }
    // One place is kept free for the next client.
    if (this.admission.isFull()) this.#evictIdlest(always);
    this.admit();
  }

  /** Evicts the idlest of the connections that may be evicted; answers whether there was one. */
  #evictIdlest(mayBe: (connection: LimitedConnection) => boolean): boolean {
    let idlest: Connection | Unserved | undefined;
    let mostMs = 0;
    for (const connection of this.#connections) {
      const { hasKey } = connection;
      const ms = connection.unkeyedMs(this.#checkedAtMs);
      if (ms <= EVICTABLE_AFTER_MS[hasKey ? 'keyed' : 'unkeyed'] || !mayBe(connection)) continue;
      const isSame = hasKey === idlest?.hasKey;
      if (idlest !== undefined && (isSame ? ms <= mostMs : hasKey)) continue;
      idlest = connection;
      mostMs = ms;
    }
    if (idlest === undefined) return false;
    this.#connections.delete(idlest);
    this.#noteOpen();
    idlest.evict();
    return true;
  }
}

/** What a connection that is not served yet waits for. */
type Phase = 'silent' | 'waiting' | 'handshake';

/** A connection that is not served yet. */
class Unserved implements LimitedConnection {
  socket: Socket | undefined;
  phase: Phase = 'silent';
  isCut = false;
  #sinceMs = performance.now();

  constructor(
    private readonly accepted: Accepted,
    /** What comes of a trusted proxy counts like a connection with a key. */
    readonly hasKey: boolean,
    private readonly stats: ConnectionStats,
  ) {}

  /** Begins to read it, 64 KiB at most until it is served; undefined where its client has gone. */
  open(allowHalfOpen: boolean): Socket | undefined {
    this.socket = this.accepted.open(allowHalfOpen);
    return this.socket;
  }

  /** What a handshake costs, in requests. */
  get requests(): number {
    return this.phase === 'handshake' ? 10 : 0;
  }

  enter(phase: Phase): void {
    this.phase = phase;
    this.#sinceMs = performance.now();
  }

  /** It is not for its client that one waits to be served. */
  unkeyedMs(nowMs: number): number {
    return this.hasKey || this.phase === 'waiting' ? 0 : nowMs - this.#sinceMs;
  }

  check(nowMs: number): void {
    const ms = nowMs - this.#sinceMs;
    if (this.phase === 'silent' && ms > MAX_SILENCE_MS) this.#close('timeout');
    if (this.phase === 'waiting' && ms > MAX_WAIT_MS) this.#close('accept_timeout');
  }

  evict(): void {
    this.#close('evicted');
  }

  cut(): void {
    this.isCut = true;
    if (this.socket === undefined) this.accepted.close();
    else this.socket.destroy();
  }

  #close(reason: CloseReason): void {
    this.stats.noteClosed(reason, this.accepted.remoteAddress);
    this.cut();
  }
}

/** Whether it is one of those that are served without having shown a key. */
function isNewcomer(connection: LimitedConnection): boolean {
  const isServed = !(connection instanceof Unserved) || connection.phase === 'handshake';
  return !connection.hasKey && isServed;
}

function always(): boolean {
  return true;
}
