import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { CloseReason } from '../observe/connection-stats.js';
import {
  ConnectionLimit,
  type Admission,
  type LimitedConnection,
} from '../admission/connection-limit.js';
import type { Accepted } from '../engine/acceptor.js';
import { MAX_WAITING, Pipeline } from './pipeline.js';
import { limitUnreadAnswer } from './time-limits.js';

/** Kept on the socket itself, as in request-end.ts. */
const CONNECTION = Symbol('connection');

interface Marked {
  [CONNECTION]?: Connection;
}

type Watched = Socket & Marked;

/**
 * How often a client that has ended its half of the connection is asked whether it is still there. It
 * may wait for its answer, or have gone, which looks the same until something is sent to it.
 */
const PROBE_INTERVAL_MS = 1_000;

/** How many frames the stack of an error has, unless `forgoStacks` was called. */
const { stackTraceLimit: STACK_TRACE_LIMIT } = Error;

type Handle = (request: IncomingMessage, response: ServerResponse) => unknown;

/** The connections of the HTTP interface on one loop, and who asks on them. */
export class Connections {
  readonly #limit: ConnectionLimit<Connection>;
  #isClosing = false;
  #onEmpty: (() => void) | undefined;

  constructor(
    private readonly admission: Admission,
    private readonly handle: Handle,
    serve: (socket: Socket) => void,
  ) {
    this.#limit = new ConnectionLimit(admission, serve, true, true);
  }

  /** Takes charge of a new connection. */
  take(accepted: Accepted): void {
    this.#limit.take(accepted);
  }

  /** Takes charge of a connection that is served, until it has ended. */
  add(socket: Watched): void {
    const isTrusted = this.admission.isTrusted(socket);
    const connection = new Connection(socket, this.handle, this, isTrusted);
    socket[CONNECTION] = connection;
    // Node makes an error of each request that it has read and that was not answered, be it thousands.
    socket.prependOnceListener('close', forgoStacks);
    socket.once('close', () => {
      this.#limit.remove(connection);
      if (this.admission.stats.open === 0) this.#onEmpty?.();
    });
    this.#limit.add(connection);
  }

  noteClosed(reason: CloseReason, address: string | undefined): void {
    this.admission.stats.noteClosed(reason, address);
  }

  /** Handles a request as soon as its connection has no other under way. */
  takeRequest(request: IncomingMessage, response: ServerResponse): void {
    const { [CONNECTION]: connection }: Watched = request.socket;
    if (this.#isClosing) response.setHeader('Connection', 'close');
    connection?.take(request, response);
  }

  /** Notes that a connection has shown its first key. */
  noteKey(): void {
    this.#limit.admit();
  }

  /** From now on each connection is closed behind its next answer; resolves when all have ended. */
  async end(): Promise<void> {
    this.#isClosing = true;
    this.#limit.close();
    if (this.admission.stats.open > 0)
      await new Promise<void>((resolve) => (this.#onEmpty = resolve));
  }

  /** Closes those on which nothing has come yet, which node takes for a request under way. */
  closeSilent(): void {
    for (const connection of this.#limit) connection.closeIfSilent();
  }

  closeAll(): void {
    for (const connection of this.#limit) connection.cut();
  }
}

/** What is being answered on a connection. */
export function answering(socket: Duplex & Marked): ServerResponse | undefined {
  return socket[CONNECTION]?.answering;
}

/** Closes the connection of a request, which is counted and logged with the reason. */
export function closeConnection(socket: Duplex & Marked, reason: CloseReason): void {
  socket[CONNECTION]?.close(reason);
}

/** Notes that the request under way on a connection writes. */
export function noteWrite(socket: Watched): void {
  socket[CONNECTION]?.noteWrite();
}

/** Notes that the request under way on a connection has a key. */
export function noteKey(socket: Watched): void {
  socket[CONNECTION]?.noteKey();
}

/** Has errors made without stacks, which take most of the time, until this event has been handled. */
function forgoStacks(): void {
  Error.stackTraceLimit = 0;
  process.nextTick(() => {
    Error.stackTraceLimit = STACK_TRACE_LIMIT;
  });
}

function noteEnd(this: ServerResponse): void {
  const { [CONNECTION]: connection }: Watched = this.req.socket;
  connection?.noteEnd();
}

/** One connection of a client, which may have sent several requests without waiting. */
class Connection implements LimitedConnection {
  readonly #pipeline: Pipeline;
  hasKey: boolean;
  requests = 0;
  /** Whether the request under way has a key; of several one is answered after the other. */
  #isKeyed = false;
  /** The same of one that writes. */
  #isWriting = false;
  #keyedAtMs = performance.now();

  constructor(
    private readonly socket: Socket,
    handle: Handle,
    private readonly all: Connections,
    /** Whether many clients share it: it is then as one that has a request with a key under way. */
    private readonly isTrusted: boolean,
  ) {
    this.hasKey = isTrusted;
    this.#pipeline = new Pipeline(socket, handle, isTrusted ? Infinity : MAX_WAITING);
    socket.once('end', () => {
      const probing = setInterval(() => this.#probe(), PROBE_INTERVAL_MS);
      socket.once('close', () => clearInterval(probing));
    });
  }

  get answering(): ServerResponse | undefined {
    return this.#pipeline.answering;
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    this.requests += 1;
    // The rest of what was read before a connection was closed is still parsed.
    if (this.socket.destroyed) return;
    response.once('close', noteEnd);
    limitUnreadAnswer(response, () => this.close('timeout'));
    if (!this.#pipeline.take(request, response)) this.close('pipelining');
  }

  noteKey(): void {
    this.#isKeyed = true;
    if (this.hasKey) return;
    this.hasKey = true;
    this.all.noteKey();
  }

  noteWrite(): void {
    this.#isWriting = true;
  }

  noteEnd(): void {
    this.#isWriting = false;
    if (this.#isKeyed) this.#keyedAtMs = performance.now();
    this.#isKeyed = false;
  }

  unkeyedMs(nowMs: number): number {
    return this.isTrusted || this.#isKeyed ? 0 : nowMs - this.#keyedAtMs;
  }

  closeIfSilent(): void {
    if (this.socket.bytesRead === 0) this.cut();
  }

  /**
   * Sends 100 Continue, of which every client of HTTP/1.1 takes any number. The system of one that has
   * gone answers by a reset: the next that is sent fails, which ends the connection and its work.
   * HTTP/1.0 has nothing of the kind: such a client is taken for gone, unless it writes, since a write
   * cannot be given up.
   */
  #probe(): void {
    const response = this.answering;
    if (response?.headersSent === false) {
      if (response.req.httpVersion === '1.1') response.writeContinue();
      else if (!this.#isWriting) this.cut();
    }
  }

  evict(): void {
    this.close('evicted');
  }

  cut(): void {
    this.socket.destroy();
  }

  close(reason: CloseReason): void {
    if (this.socket.destroyed) return;
    this.all.noteClosed(reason, this.socket.remoteAddress);
    this.cut();
  }
}
