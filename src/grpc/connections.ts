import { constants, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import {
  ConnectionLimit,
  type Admission,
  type LimitedConnection,
} from '../admission/connection-limit.js';
import type { Accepted } from '../engine/acceptor.js';
import type { CloseReason } from '../observe/connection-stats.js';
import type { CallLifecycle } from './call-lifecycle.js';
import type { CallKind, OpenCalls } from './open-calls.js';
import { afterSessionEnd, MAX_HEADER_BYTES, MAX_SESSION_MEMORY_MIB } from './transport/server.js';

/**
 * What a connection without a key may send at once, and in each second, that is neither call nor
 * message. To acknowledge answers and to stay alive takes some hundred bytes; pings, settings,
 * window updates and empty data cost more here than at their sender.
 */
const MAX_IDLE_BYTES = 256 * 1024;
const IDLE_BYTES_PER_S = 64 * 1024;
/** Of what goes in and out, what its frames and what acknowledges it take at most. */
const OVERHEAD = 1 / 8;
/** What a client may have sent of a message by the time it hears that its call is refused. */
const FIRST_WINDOW_BYTES = 65_535;

/** Calls that a connection without a key may reset between two checks (CVE-2023-44487). */
const MAX_RESETS_WITHOUT_KEY = 32;

/**
 * What resets cost a connection until it ends with an error, for which clients give up its other
 * calls, too. Node keeps of its memory what had not been sent of an answer when its call was reset,
 * and nghttp2 counts resets: so many at once, and then so many a second, where Node.js 20 can set no
 * other numbers. Sooner a client is told to go on over another connection.
 */
const MAX_LOST_BYTES = (MAX_SESSION_MEMORY_MIB * 1024 * 1024) / 4;
const FIXED_RESETS = process.versions.node.startsWith('20.')
  ? { atOnce: 1_000, perSecond: 33, onTheirWay: 256 }
  : undefined;
/** How long a client may take to hear that. */
const MOVE_MS = 10_000;
/** The last stream that it is told is answered: any that it has begun by then. */
const ANY_STREAM = 2 ** 31 - 1;

/**
 * Frames that may wait to be written to a connection without a key: a client that asks and does
 * not read takes memory.
 */
const MAX_UNREAD_FRAMES = 1_000;

/** A connection without a call for this long is closed; clients open another when they need it. */
const IDLE_TIMEOUT_MS = 600_000;

/**
 * When a silent connection is asked whether its client is still there, and how long the answer may
 * take. After some faults of a client node reads no more from it, and would not hear of its end. A
 * client that has shown a key may stand still for seconds while it encodes a large message.
 */
const PING = {
  unkeyed: { afterMs: 1_000, timeoutMs: 3_000 },
  keyed: { afterMs: 20_000, timeoutMs: 20_000 },
} as const;

/** The window of a connection, and of its calls, once it has shown a key: what may be on its way. */
const KEYED_WINDOW_BYTES = 4 * 1024 * 1024;

/** What node calls faults of a client. There are others: a client that closes with an error. */
const BROKEN: ReadonlySet<string> = new Set([
  'ERR_HTTP2_ERROR',
  'ERR_HTTP2_TOO_MANY_INVALID_FRAMES',
]);

/** Of a connection that is closed for these reasons the client is told to calm down. */
const ASKS_TOO_MUCH: ReadonlySet<CloseReason> = new Set(['resets', 'idle_frames']);

/** The connections of the gRPC interface on one loop, and the calls that are open on them. */
export class Connections {
  readonly #limit: ConnectionLimit<Connection>;

  constructor(
    private readonly admission: Admission,
    readonly calls: OpenCalls,
    serve: (socket: Socket) => void,
  ) {
    this.#limit = new ConnectionLimit(admission, serve, false, false);
  }

  /** Takes charge of a new connection. */
  take(accepted: Accepted): void {
    this.#limit.take(accepted);
  }

  noteClosed(reason: CloseReason, address: string | undefined): void {
    this.admission.stats.noteClosed(reason, address);
  }

  noteKey(): void {
    this.#limit.admit();
  }

  add(session: ServerHttp2Session, socket: Socket): Connection {
    const connection = new Connection(session, socket, this, this.admission.isTrusted(socket));
    this.#limit.add(connection);
    session.once('close', () => this.#limit.remove(connection));
    session.on('error', (error: NodeJS.ErrnoException) => {
      // Until its stack is read, an error holds the frames of it, and with them, before Node 24, the
      // session and its memory for ever.
      void error.stack;
      connection.noteError(error);
    });
    return connection;
  }

  /** Ends the streams whose keys open the service no longer. */
  recheckKeys(): void {
    for (const connection of this.#limit) connection.recheckKeys();
  }

  close(): void {
    this.#limit.close();
  }
}

/** One connection of a client, and what it has cost since the last check. */
export class Connection implements LimitedConnection {
  /** A socket that has ended tells no address. */
  readonly #address: string | undefined;
  readonly #openCalls = new Set<CallLifecycle>();
  #openKeyed = 0;
  hasKey = false;
  /** Whether it is limited as one without a key: it has shown none, or one that is known no longer. */
  #isLimited = true;
  /** Why the last call with a key could not be made any more, if it could not. */
  #keyRefusal: CallLifecycle['refusalNow'] = () => undefined;
  requests = 0;
  #hasCalled = false;
  #keyedAtMs = performance.now();
  #calledAtMs = performance.now();
  #heardAtMs = performance.now();
  #calls = 0;
  #keyedCalls = 0;
  #refusals = 0;
  #resets = 0;
  /** Less what each second allows, the calls, and those of them that were reset or cut short. */
  readonly #recent = { calls: 0, resets: 0 };
  #lostBytes = 0;
  #movesSinceMs = Infinity;
  #messageBytes = 0;
  #receivedBytes = 0;
  #sentBytes = 0;
  /** Bytes that were neither call nor message, less what each second forgives. */
  #idleBytes = 0;
  isClosing = false;
  #isPinged = false;

  constructor(
    private readonly session: ServerHttp2Session,
    private readonly socket: Socket,
    private readonly all: Connections,
    /** Whether many clients share it: it is then as one that has a request with a key under way. */
    private readonly isTrusted: boolean,
  ) {
    this.#address = socket.remoteAddress;
    if (isTrusted) this.#noteKey();
  }

  /** Whether there may be one more call. */
  mayBegin(kind: CallKind): boolean {
    const own = kind === 'keyed' ? this.#openKeyed : this.#openCalls.size - this.#openKeyed;
    return this.all.calls.mayBegin(kind, own);
  }

  /** `showsKey` tells whether the call has a known key, even one that may not make this call. */
  begin(call: CallLifecycle, showsKey: boolean): void {
    this.requests += 1;
    this.#calls += 1;
    this.#recent.calls += 1;
    this.#hasCalled = true;
    this.#moveInTime();
    if (call.refusal !== undefined) this.#refusals += 1;
    this.#openCalls.add(call);
    this.all.calls.begin(call.hasKey ? 'keyed' : 'open');
    if (call.hasKey) this.#openKeyed += 1;
    if (!showsKey) return;
    this.#keyRefusal = call.refusalNow;
    this.#keyedCalls += 1;
    if (this.#isLimited) this.#noteKey();
  }

  end(call: CallLifecycle): void {
    this.#openCalls.delete(call);
    this.all.calls.end(call.hasKey ? 'keyed' : 'open');
    this.#messageBytes += call.bytes;
    if (call.hasKey) this.#openKeyed -= 1;
  }

  recheckKeys(): void {
    for (const call of this.#openCalls) call.recheckKey();
    if (!this.isTrusted && this.#keyRefusal()?.code === 'UNAUTHENTICATED') this.#isLimited = true;
  }

  /** A client with a key may have more on its way, as a large upload over a long line needs it. */
  #noteKey(): void {
    this.hasKey = true;
    this.#isLimited = false;
    this.all.noteKey();
    this.session.settings({ initialWindowSize: KEYED_WINDOW_BYTES });
    this.session.setLocalWindowSize(KEYED_WINDOW_BYTES);
  }

  noteReset(unsentBytes: number): void {
    if (this.session.destroyed) return;
    this.requests += 1;
    this.#resets += 1;
    this.#recent.resets += 1;
    this.#lostBytes += unsentBytes;
    this.#moveInTime();
    if (this.#isLimited && this.#resets > MAX_RESETS_WITHOUT_KEY) this.#close('resets');
  }

  /** Nghttp2 counts the reset of a call that is over, too, of which node tells nothing. */
  noteCutShort(): void {
    if (this.session.destroyed) return;
    this.#recent.resets += 1;
    this.#moveInTime();
  }

  /** Has the client go on over another connection in time: this one takes no new calls then. */
  #moveInTime(): void {
    if (this.#movesSinceMs !== Infinity) return;
    if (this.#lostBytes <= MAX_LOST_BYTES && !this.#nearsFixedResets) return;
    this.#movesSinceMs = performance.now();
    this.session.goaway(constants.NGHTTP2_NO_ERROR, ANY_STREAM);
  }

  /**
   * The reset of a call that has just been answered is counted by nghttp2 alone: where there are
   * others, any call may have been reset.
   */
  get #nearsFixedResets(): boolean {
    if (FIXED_RESETS === undefined) return false;
    const { atOnce, perSecond, onTheirWay } = FIXED_RESETS;
    const { calls, resets } = this.#recent;
    return resets > perSecond && Math.max(calls, resets) > atOnce - onTheirWay;
  }

  /**
   * Notes that node ends it, for what its client sent. After a call that says nothing: clients
   * written in Go end their connections with a frame that nghttp2 takes for broken.
   */
  noteError({ code }: NodeJS.ErrnoException): void {
    if (BROKEN.has(code ?? '') && !this.#hasCalled) this.#noteClosed('protocol');
  }

  unkeyedMs(nowMs: number): number {
    return this.isTrusted || this.#keyedCalls + this.#openKeyed > 0 ? 0 : nowMs - this.#keyedAtMs;
  }

  evict(): void {
    this.#close('evicted');
  }

  /** Closes the connection when it costs without bringing a call on, or its client is gone. */
  check(nowMs: number, seconds: number): void {
    const { session, socket } = this;
    if (session.destroyed) return;
    for (const call of this.#openCalls) call.check(nowMs);
    if (this.#calls + this.#openCalls.size > 0) this.#calledAtMs = nowMs;
    if (this.#keyedCalls + this.#openKeyed > 0) this.#keyedAtMs = nowMs;
    const { bytesRead, bytesWritten } = socket;
    const received = bytesRead - this.#receivedBytes;
    this.#countIdleBytes(received, bytesWritten - this.#sentBytes, seconds);
    this.#receivedBytes = bytesRead;
    this.#sentBytes = bytesWritten;
    this.#resets = 0;
    const allowed = seconds * (FIXED_RESETS?.perSecond ?? 0);
    this.#recent.calls = Math.max(0, this.#recent.calls - allowed);
    this.#recent.resets = Math.max(0, this.#recent.resets - allowed);
    const hasMoved = nowMs - this.#movesSinceMs > MOVE_MS;
    if (this.#isLimited && this.#idleBytes > MAX_IDLE_BYTES) this.#close('idle_frames');
    else if (this.#isLimited && this.#unreadFrames > MAX_UNREAD_FRAMES) this.#close('timeout');
    else {
      if (hasMoved || nowMs - this.#calledAtMs > IDLE_TIMEOUT_MS) session.close();
      // One that takes no new calls waits for the end of others, and of what its client does not read.
      if (!session.destroyed) this.#ping(nowMs, received);
    }
  }

  #countIdleBytes(received: number, sent: number, seconds: number): void {
    let messageBytes = this.#messageBytes;
    for (const call of this.#openCalls) messageBytes += call.bytes;
    const used =
      this.#calls * MAX_HEADER_BYTES +
      messageBytes * (1 + OVERHEAD) +
      this.#refusals * FIRST_WINDOW_BYTES +
      sent * OVERHEAD;
    const idle = this.#idleBytes + received - used - seconds * IDLE_BYTES_PER_S;
    this.#idleBytes = Math.max(0, idle);
    this.#calls = 0;
    this.#keyedCalls = 0;
    this.#refusals = 0;
    this.#messageBytes = 0;
  }

  get #unreadFrames(): number {
    return this.session.state.outboundQueueSize ?? 0;
  }

  #ping(nowMs: number, received: number): void {
    if (received > 0) {
      this.#heardAtMs = nowMs;
      this.#isPinged = false;
    }
    const { afterMs, timeoutMs } = PING[this.hasKey ? 'keyed' : 'unkeyed'];
    const silentMs = nowMs - this.#heardAtMs;
    if (silentMs > afterMs + timeoutMs) this.#close('unanswered_ping');
    else if (silentMs > afterMs && !this.#isPinged) {
      this.#isPinged = true;
      this.session.ping(() => undefined);
    }
  }

  /** Ends it within a few turns of the event loop, and tells its client. */
  #close(reason: CloseReason): void {
    if (this.isClosing) return;
    this.isClosing = true;
    if (!this.session.destroyed) {
      // At once: newer versions of node may end it before its turn, for the same reason.
      this.#noteClosed(reason);
      if (ASKS_TOO_MUCH.has(reason)) {
        // Without an error node tells the client NO_ERROR, whatever the code is.
        this.session.destroy(new Error(reason), constants.NGHTTP2_ENHANCE_YOUR_CALM);
      } else this.session.destroy();
    }
    // Node would wait until its client has read what is being written, which it may never do.
    afterSessionEnd(() => this.socket.destroy());
  }

  #noteClosed(reason: CloseReason): void {
    this.all.noteClosed(reason, this.#address);
  }
}
