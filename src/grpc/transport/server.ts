import {
  constants,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { parse } from 'content-type';
import { ServerError, Status } from 'nice-grpc-common';
import { Call, closeSoon } from './call.js';
import { ChunkPool } from './chunk-pool.js';
import type { MessageLimit } from './messages.js';
import { methodsOf, type Method, type ServiceDefinition } from './methods.js';
import type { ConnectionPolicy, Policy } from './policy.js';

export interface TransportOptions {
  readonly messageLimit: MessageLimit;
  readonly policy: Policy;
}

/**
 * Calls that one connection may have open at one time; its client queues the others. Node counts
 * calls that were reset until all has been read that came with their resets: a client that cancels
 * some and opens as many others stays below this number as long as it has half as many open.
 */
const MAX_CONCURRENT_STREAMS = 256;

/**
 * What node keeps for one connection, in MiB: the state of its streams, their headers, and frames
 * that wait to be written. Beyond it new streams are refused, and after some the connection ends.
 */
export const MAX_SESSION_MEMORY_MIB = 16;

/** By how many turns of the event loop the end of a session is deferred. */
const SESSION_END_TURNS = 2;

/** The most that the headers of a call take. */
export const MAX_HEADER_BYTES = 16 * 1024;

/** gRPC with messages of protobuf, in lower case. */
const GRPC_TYPES: ReadonlySet<string> = new Set(['application/grpc', 'application/grpc+proto']);

/**
 * Calls that a client may reset in a second before nghttp2 ends its connection (CVE-2023-44487).
 * Versions of Node.js without these options have nghttp2's own limit.
 */
const MAX_RESETS_PER_S = 1_000;

const HTTP2_OPTIONS = {
  settings: {
    maxConcurrentStreams: MAX_CONCURRENT_STREAMS,
    maxHeaderListSize: MAX_HEADER_BYTES,
    enablePush: false,
  },
  maxSessionMemory: MAX_SESSION_MEMORY_MIB,
  streamResetBurst: MAX_RESETS_PER_S,
  streamResetRate: MAX_RESETS_PER_S,
};

/**
 * The same where one connection carries the calls of many clients, which one of them must not
 * hinder: as many as all connections together may have open, and memory for them.
 */
const SHARED_OPTIONS = {
  settings: { ...HTTP2_OPTIONS.settings, maxConcurrentStreams: 4_096 },
  maxSessionMemory: 16 * MAX_SESSION_MEMORY_MIB,
  streamResetBurst: 1_000_000,
  streamResetRate: 1_000_000,
};

/**
 * Serves services of nice-grpc over HTTP/2, by the public interface of node:http2. It does not
 * listen: each connection is given to it.
 */
export class TransportServer {
  readonly #methods = new Map<string, Method>();
  readonly #pool = new ChunkPool();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #server: Http2Server;
  readonly #sharedServer: Http2Server;
  #hasEnded: (() => void) | undefined;

  constructor(private readonly options: TransportOptions) {
    this.#server = this.#createServer(HTTP2_OPTIONS);
    this.#sharedServer = this.#createServer(SHARED_OPTIONS);
  }

  #createServer(http2Options: ServerOptions): Http2Server {
    const server = createServer(http2Options);
    let socket: Socket;
    // A session shows no more of its socket than it wants to; node makes it in the same event.
    server.prependListener('connection', (of: Socket) => {
      socket = of;
    });
    server.on('session', (session) => this.#connect(session, socket));
    return server;
  }

  add(definition: ServiceDefinition, implementation: object): void {
    for (const method of methodsOf(definition, implementation)) {
      this.#methods.set(method.path, method);
    }
  }

  /** Serves a connection; `isShared` is one that carries the calls of many clients. */
  take(socket: Socket, isShared = false): void {
    (isShared ? this.#sharedServer : this.#server).emit('connection', socket);
    socket.resume();
  }

  /** Takes no new calls, and resolves once those under way have ended. */
  async shutdown(): Promise<void> {
    if (this.#sessions.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#hasEnded = resolve;
      for (const session of this.#sessions) session.close();
    });
  }

  /** Cuts what is left. */
  forceShutdown(): void {
    for (const session of this.#sessions) session.destroy();
  }

  #connect(session: ServerHttp2Session, socket: Socket): void {
    deferEnd(session);
    const connection = this.options.policy.connect(session, socket);
    this.#sessions.add(session);
    session.on('error', () => session.destroy());
    session.once('close', () => {
      this.#sessions.delete(session);
      if (this.#sessions.size === 0) this.#hasEnded?.();
    });
    session.on(
      'stream',
      (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: string[]) =>
        this.#begin(stream, headers, raw, connection),
    );
  }

  #begin(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    connection: ConnectionPolicy,
  ): void {
    // What has been read of a connection by the time it is closed can be thousands of calls, which
    // end with it.
    if (stream.destroyed || connection.isClosing) {
      stream.on('error', () => undefined);
      connection.noteReset(0);
      return;
    }
    stream.once('close', () => {
      const { rstCode, writableLength } = stream;
      if (rstCode !== constants.NGHTTP2_NO_ERROR) connection.noteReset(writableLength);
    });
    const onCutShort = (): void => connection.noteCutShort();
    const { type } = parse(headers['content-type'] ?? '');
    if (headers[':method'] !== 'POST' || !GRPC_TYPES.has(type)) {
      stream.on('error', () => undefined);
      stream.respond({ ':status': 415 }, { endStream: true });
      closeSoon(stream, onCutShort);
      return;
    }
    const path = headers[':path'] ?? '';
    const method = this.#methods.get(path);
    const policy = connection.begin(path, headers, rawHeaders);
    const call = new Call(stream, headers, policy, this.#pool, onCutShort);
    if (method !== undefined) call.start(method, this.options.messageLimit);
    else call.fail(new ServerError(Status.UNIMPLEMENTED, `There is no method ${path}`));
  }
}

/**
 * Defers the end of a session, whoever ends it, for two faults of node. It loops for ever if a session
 * ends while nghttp2 reads. It aborts if it frees a session before a stream that holds header fields; a
 * stream whose head node has refused holds them until node has reset it, in one turn, and freed it, in
 * the next.
 */
function deferEnd(session: ServerHttp2Session): void {
  const destroy = session.destroy.bind(session);
  let isEnding = false;
  session.destroy = (...how) => {
    if (isEnding) return;
    isEnding = true;
    // Node resets a call that it reads of a closed session, and makes no stream of it.
    Object.defineProperty(session, 'closed', { value: true, configurable: true });
    afterTurns(SESSION_END_TURNS, () => {
      // The socket of a closed session stays open until its client closes it, too.
      delete (session as { closed?: boolean }).closed;
      destroy(...how);
    });
  };
}

/** Calls `act` in the turn after that in which a session ends that is ended now. */
export function afterSessionEnd(act: () => void): void {
  afterTurns(SESSION_END_TURNS + 1, act);
}

function afterTurns(turns: number, act: () => void): void {
  if (turns === 0) act();
  else setImmediate(afterTurns, turns - 1, act);
}
