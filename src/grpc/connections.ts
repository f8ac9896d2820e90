import {
  constants,
  type Http2Server,
  type Http2Session,
  type ServerHttp2Session,
} from 'node:http2';
import type { DropArgument, Socket } from 'node:net';
import type { CloseReason, ConnectionStats } from '../observe/connection-stats.js';
import {
  ConnectionLimit,
  LOOK_INTERVAL_MS,
  type LimitedConnection,
} from '../admission/connection-limit.js';
import type { Stranger, Strangers } from '../admission/strangers.js';

/**
 * How many calls may be open: on all connections together, each call taking some 10 KiB besides
 * its message, and on any connection, however many the others have. A call to a method that needs
 * a key is closed at once without one; health and reflection are for everyone, and a watch goes on
 * for as long as its client likes.
 */
const LIMITS = {
  keyed: { most: 4_096, fair: 16 },
  open: { most: 1_024, fair: 4 },
} as const;

export type CallKind = keyof typeof LIMITS;

/**
 * What a connection may send at once, and in each second, that is neither call nor message: to
 * acknowledge answers and to stay alive takes some hundred bytes. Frames that bring no call on
 * (pings, settings, priorities, window updates, empty data) cost more here than at their sender.
 */
const MAX_IDLE_BYTES = 256 * 1024;
const IDLE_BYTES_PER_S = 64 * 1024;
/** The most that the headers of a call take. */
export const MAX_HEADER_BYTES = 16 * 1024;
/** What a client may have sent of a message by the time it hears that its call is refused. */
const FIRST_WINDOW_BYTES = 65_535;
/** Of so many refused calls between two looks this is taken into account. */
const MAX_REFUSALS = 4;
/** Of what goes in and out, what its frames and what acknowledges it take at most. */
const OVERHEAD = 1 / 8;

/**
 * Pieces of messages between two looks: beyond so many there are to be so few for each call, or so
 * many bytes in each. A message in pieces of a byte costs a thousand times what its bytes do.
 */
const MAX_PIECES = 1_000;
const PIECES_OF_CALL = 4;
const LEAST_PIECE_BYTES = 64;

/**
 * How many calls a client may reset between two looks, as many as it may have open, and how many
 * one that has shown no key. With more its connection ends (CVE-2023-44487).
 */
const MAX_RESETS = 256;
const MAX_RESETS_OF_STRANGER = 32;

/** Before that nghttp2 is to end none. That of Node 20 does, with 1,000 and then 33 each second. */
export const MAX_RESETS_PER_S = (MAX_RESETS * 1000) / LOOK_INTERVAL_MS;

/** A connection without a call for this long is closed; clients open another when they need it. */
const IDLE_TIMEOUT_MS = 600_000;

/**
 * How soon a connection that has become silent is asked whether it is still there, and how long it
 * has to say so. One without calls and without a key loses nothing when it is closed. A client that
 * has shown a key may stand still for seconds while it encodes a large message.
 */
const PROBE = {
  stranger: { afterMs: 1_000, timeoutMs: 3_000 },
  client: { afterMs: 5_000, timeoutMs: 20_000 },
} as const;
const PING_BYTES = 17;

/** What has waited for so long to be read, of a client that has left, is not read if it is much. */
const LEFT_UNREAD_MS = 1_000;

/** What node calls its faults of a client. There are others: a client that closes with an error. */
const BROKEN: ReadonlySet<string> = new Set([
  'ERR_HTTP2_ERROR',
  'ERR_HTTP2_TOO_MANY_INVALID_FRAMES',
]);

/** Of what is closed for these reasons the client is told that it shall calm down. */
const ASKS_TOO_MUCH: ReadonlySet<CloseReason> = new Set(['resets', 'pieces', 'idle_frames']);

const CONNECTION = Symbol('connection');

interface WatchedSession extends Http2Session {
  [CONNECTION]?: Connection;
}

/** The connection that a call came on. */
export function connectionOf(session: Http2Session | undefined): Connection | undefined {
  return (session as WatchedSession | undefined)?.[CONNECTION];
}

/** All connections of the gRPC interface, and what each of them may cost. */
export class Connections {
  readonly #limit: ConnectionLimit<Connection>;
  #hasEnded: (() => void) | undefined;
  readonly calls = new OpenCalls();

  constructor(
    maxConnections: number,
    private readonly strangers: Strangers,
    readonly stats: ConnectionStats,
  ) {
    this.#limit = new ConnectionLimit(maxConnections, stats);
  }

  /** Takes charge of the connections of a server that does not listen yet. */
  watch(server: Http2Server): void {
    server.maxConnections = this.#limit.most;
    server.on('drop', (dropped?: DropArgument) => {
      this.stats.noteClosed('no_place', dropped?.remoteAddress);
    });
    let socket: Socket;
    // A session shows no more of its socket than it wants to; node makes it in the same event.
    server.prependListener('connection', (of: Socket) => {
      socket = of;
    });
    server.on('session', (session: ServerHttp2Session & { [CONNECTION]?: Connection }) => {
      const connection = new Connection(session, socket, this, this.strangers.meet(socket));
      session[CONNECTION] = connection;
      this.#limit.add(connection);
      session.on('stream', (stream) => {
        connection.noteHeard();
        if (stream.destroyed) connection.noteReset();
      });
      session.once('close', () => this.#leave(connection));
    });
    server.on('sessionError', (error: NodeJS.ErrnoException, session: WatchedSession) => {
      if (BROKEN.has(error.code ?? '')) session[CONNECTION]?.noteBroken();
    });
  }

  /** Resolves once all have ended. grpc-js does not hear of those that end while it begins to stop. */
  async ended(): Promise<void> {
    if (this.#limit.count === 0) return;
    await new Promise<void>((resolve) => {
      this.#hasEnded = resolve;
    });
  }

  close(): void {
    this.#limit.close();
  }

  #leave(connection: Connection): void {
    this.#limit.remove(connection);
    if (this.#limit.count === 0) this.#hasEnded?.();
  }
}

/** Calls that have not ended, of one connection or of all. */
class OpenCalls {
  keyed = 0;
  open = 0;
}

/** One connection of a client, and what it has cost so far. */
export class Connection implements LimitedConnection {
  readonly #beganAtMs = performance.now();
  #calledAtMs = this.#beganAtMs;
  #keyedAtMs = this.#beganAtMs;
  readonly #open = new OpenCalls();
  /** What has come since the last look. */
  #calls = 0;
  #keyedCalls = 0;
  #messageBytes = 0;
  #pieces = 0;
  #resets = 0;
  #refusals = 0;
  #hasCalled = false;
  #givenUpFor: CloseReason | undefined;
  #heardAtMs = this.#beganAtMs;
  #probe: { readonly sentAtMs: number; isAnswered: boolean } | undefined;
  /** As they were at the last look. */
  #receivedBytes = 0;
  #sentBytes = 0;
  /** Bytes that were neither call nor message, less what each second forgives. */
  #idleBytes = 0;

  constructor(
    private readonly session: ServerHttp2Session,
    private readonly socket: Socket,
    private readonly all: Connections,
    private readonly stranger: Stranger,
  ) {}

  /** For how long there has been no call that has a key. */
  unkeyedMs(nowMs: number): number {
    return this.#keyedCalls + this.#open.keyed > 0 ? 0 : nowMs - this.#keyedAtMs;
  }

  evict(): void {
    this.#end('gave_way');
  }

  /**
   * Notes that node ends it, for what its client sent. After a call that says nothing: clients
   * written in Go end their connections with a frame that nghttp2 takes for broken.
   */
  noteBroken(): void {
    const reason = this.#givenUpFor ?? (this.#hasCalled ? undefined : 'protocol');
    if (reason !== undefined) this.all.stats.noteClosed(reason, this.socket.remoteAddress);
  }

  /** Notes a call; answers whether there may be one more. Each that may has its `endCall`. */
  beginCall(kind: CallKind): boolean {
    this.#calls += 1;
    this.#hasCalled = true;
    const { calls } = this.all;
    const { most, fair } = LIMITS[kind];
    if (calls[kind] >= most && this.#open[kind] >= fair) return false;
    calls[kind] += 1;
    this.#open[kind] += 1;
    return true;
  }

  endCall(kind: CallKind): void {
    this.all.calls[kind] -= 1;
    this.#open[kind] -= 1;
  }

  /** Notes that something came that is a call, of whoever. */
  noteHeard(): void {
    this.stranger.noteHeard();
  }

  /** Whether a call has had a key. */
  get isKnown(): boolean {
    return this.stranger.isKnown;
  }

  /** Notes that a call has a key. */
  noteKey(): void {
    this.#keyedCalls += 1;
    this.stranger.noteKey();
  }

  /** Whether it ends as soon as all of it has been read: nothing of that matters any more. */
  get isGivenUp(): boolean {
    return this.#givenUpFor !== undefined;
  }

  /** Notes that a call was reset; those that end with their connection are not. */
  noteReset(): void {
    if (this.session.destroyed) return;
    this.#resets += 1;
    if (this.#resets > (this.isKnown ? MAX_RESETS : MAX_RESETS_OF_STRANGER)) this.#giveUp('resets');
  }

  /** Notes that a call was answered before its message had come, which goes on coming for a while. */
  noteRefusal(): void {
    this.#refusals += 1;
  }

  /** Notes a piece of a message. */
  receive(bytes: number): void {
    this.#messageBytes += bytes;
    this.#pieces += 1;
    const allowed =
      MAX_PIECES + this.#calls * PIECES_OF_CALL + this.#messageBytes / LEAST_PIECE_BYTES;
    if (this.#pieces > allowed) this.#giveUp('pieces');
  }

  /** Closes the connection when it costs without bringing a call on. */
  look(nowMs: number, seconds: number): void {
    const { session, stranger } = this;
    if (session.destroyed) return;
    if (nowMs - stranger.readUntilMs > LEFT_UNREAD_MS && stranger.hasLeftMuch) {
      session.destroy();
      return;
    }
    const { bytesRead, bytesWritten } = this.socket;
    this.#askWhetherThere(nowMs, bytesRead - this.#receivedBytes);
    if (session.destroyed) return;
    if (this.#calls + this.#openCalls > 0) this.#calledAtMs = nowMs;
    if (this.#keyedCalls + this.#open.keyed > 0) this.#keyedAtMs = nowMs;
    const used = this.#calls * MAX_HEADER_BYTES + this.#messageBytes * (1 + OVERHEAD);
    const refused = Math.min(this.#refusals, MAX_REFUSALS) * FIRST_WINDOW_BYTES;
    const acknowledging = (bytesWritten - this.#sentBytes) * OVERHEAD;
    const idle = bytesRead - this.#receivedBytes - used - refused - acknowledging;
    this.#idleBytes = Math.max(0, this.#idleBytes + idle - seconds * IDLE_BYTES_PER_S);
    this.#receivedBytes = bytesRead;
    this.#sentBytes = bytesWritten;
    this.#calls = 0;
    this.#keyedCalls = 0;
    this.#messageBytes = 0;
    this.#pieces = 0;
    this.#resets = 0;
    this.#refusals = 0;

    if (this.#idleBytes > MAX_IDLE_BYTES) this.#end('idle_frames');
    else if (nowMs - this.#calledAtMs > IDLE_TIMEOUT_MS) session.close();
  }

  get #openCalls(): number {
    return this.#open.keyed + this.#open.open;
  }

  /**
   * Asks a connection that has become silent, once, whether it is still there. After a fault of
   * its client node reads no more of it, and would not hear of its end. What a stranger has sent may
   * wait to be read for long.
   */
  #askWhetherThere(nowMs: number, receivedBytes: number): void {
    const { readUntilMs } = this.stranger;
    const isStranger = this.#openCalls === 0 && !this.isKnown;
    const { afterMs, timeoutMs } = isStranger ? PROBE.stranger : PROBE.client;
    if (receivedBytes > PING_BYTES) {
      this.#heardAtMs = nowMs;
      this.#probe = undefined;
    } else if (this.#probe === undefined) {
      if (readUntilMs - this.#heardAtMs < afterMs) return;
      const probe = { sentAtMs: nowMs, isAnswered: false };
      this.#probe = probe;
      this.session.ping((error) => {
        probe.isAnswered = error === null;
      });
    } else if (!this.#probe.isAnswered && readUntilMs - this.#probe.sentAtMs > timeoutMs) {
      this.#end('unanswered_ping');
    }
  }

  /**
   * Ends it outside of nghttp2, which is reading: to end it node would have it write meanwhile, and
   * that goes on for ever when it has come to a call that is being reset.
   */
  #giveUp(reason: CloseReason): void {
    if (this.isGivenUp) return;
    this.#givenUpFor = reason;
    this.stranger.noteGivenUp(this.socket.bytesRead - this.#receivedBytes);
    setImmediate(() => this.#end(reason));
  }

  /** Ends it, of which its client is told. */
  #end(reason: CloseReason): void {
    if (!this.session.destroyed) {
      this.all.stats.noteClosed(reason, this.socket.remoteAddress);
      if (ASKS_TOO_MUCH.has(reason)) {
        // Without an error node tells the client NO_ERROR, whatever the code is.
        this.session.destroy(new Error(reason), constants.NGHTTP2_ENHANCE_YOUR_CALM);
      } else this.session.destroy();
    }
    // Node would wait until its client has read what is being written, which it may never do.
    setImmediate(() => this.socket.destroy());
  }
}
