import { constants, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import {
  Server,
  status,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { BaseServerInterceptingCall } from '@grpc/grpc-js/build/src/server-interceptors.js';
import { VectordError, invalid } from '../core/errors.js';
import { joinSmall } from '../admission/join-small.js';
import type { RequestScheduler } from '../admission/request-scheduler.js';
import { connectionOf, type CallKind, type Connection } from './connections.js';
import { decompress, isCompression } from './decompress.js';

/*
 * Importing this module opens, in the few places where the public interface of grpc-js has none,
 * the doors that the call gate needs. grpc-js is pinned to one minor version, and each door has a
 * test that fails when an upgrade moves what it relies on.
 */

export type CallStatus = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

/** What a call tells the interceptor beyond what grpc-js tells it. */
export interface CallHooks {
  /** Hears of all bytes as they arrive and as they unpack; throws a VectordError to refuse. */
  take(bytes: number): void;
  /** Hears of the bytes of each answer before they are sent; throws a VectordError to refuse. */
  takeAnswer(bytes: number): void;
  /** Sees every status before it is sent, those of grpc-js itself too; answers what to send. */
  answer(status: CallStatus): CallStatus;
}

/** On the call itself: a weak map takes longer, several times for each call. */
const HOOKS = Symbol('hooks');

interface Hooked {
  [HOOKS]?: CallHooks;
}

export function hookCall(call: ServerInterceptingCallInterface & Hooked, hooks: CallHooks): void {
  call[HOOKS] = hooks;
}

/** Ends a call whose client does not take its answer. */
export function closeCall(call: ServerInterceptingCallInterface): void {
  // Private members are no part of a class's type, hence the detour over unknown.
  (call as unknown as CallInternals).stream.close(constants.NGHTTP2_CANCEL);
}

/** Notes that a call has a key. */
export function noteKey(call: ServerInterceptingCallInterface): void {
  ((call as unknown as CallInternals).stream as CountedStream)[COUNTED_BY]?.noteKey();
}

/** The start of the path of every method that needs a key, known or not. */
const KEYED_PATHS = '/vectordb.';

const AUTHORIZATION = 'authorization';
const FRAME_HEADER_BYTES = 5;

/** The units of a deadline in which it can be too long for a timer of node. */
const SECONDS: ReadonlyMap<string, number> = new Map([
  ['H', 3600],
  ['M', 60],
  ['S', 1],
]);
const LONGEST_TIMEOUT_S = 2_147_483;

interface Handler {
  readonly path: string;
  readonly type: 'unary';
  readonly func: () => void;
  readonly serialize: (message: unknown) => Buffer;
  readonly deserialize: (bytes: Buffer) => unknown;
}

/** An array is what node:http2 gives for a header that may come more than once. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What a server is made of besides the options of grpc-js, under this name among them. */
export const HTTP2_SETUP = 'vectord.http2';

export interface Http2Setup {
  /** For the settings that are sent to each client, besides those of grpc-js. */
  readonly maxHeaderBytes: number;
  /** Calls that a client may reset in each second, where node lets nghttp2 be told. */
  readonly maxResetsPerS: number;
  /** Says when a call may begin. */
  readonly pace: RequestScheduler;
  /** Whether an authorization header says a key of the service. */
  knows(authorization: string): boolean;
  /** What to answer to a call of this path that is one too many. */
  refuse(path: string): CallStatus;
  /** Sees each server before it listens. */
  onServer(server: Http2Server): void;
}

interface ServerInternals {
  readonly options: { readonly [HTTP2_SETUP]?: Http2Setup };
  readonly commonServerOptions: {
    settings?: object;
    streamResetBurst?: number;
    streamResetRate?: number;
  };
  createHttp2Server(credentials: unknown): Http2Server;
  _retrieveHandler(path: string): Handler | null;
  _streamHandler(
    interceptors: readonly ServerInterceptor[],
    stream: ServerHttp2Stream,
    headers: Headers,
    flags: number,
    rawHeaders: readonly string[],
  ): void;
}

interface CallInternals extends Hooked {
  readonly stream: ServerHttp2Stream;
  readonly decoder: { readonly readPartialMessage: Buffer[] };
  readonly maxReceiveMessageSize: number;
  readonly cancelled: boolean;
  readonly metadataSent: boolean;
  readonly receivedHalfClose: boolean;
  checkCancelled(): boolean;
  handleTimeoutHeader(header: string): void;
  handleDataFrame(data: Buffer): void;
  serializeMessage(message: unknown): Buffer;
  decompressMessage(framed: Buffer, encoding: string): Buffer | Promise<Buffer>;
  sendStatus(status: CallStatus): void;
}

// Private members are no part of a class's type, hence the detour over unknown.
const server = Server.prototype as unknown as ServerInternals;
const baseCall = BaseServerInterceptingCall.prototype as unknown as CallInternals;

/* grpc-js has options neither for the size of headers nor for the number of connections. */
replace(server, 'createHttp2Server', (original) => {
  return function createHttp2Server(this: ServerInternals, credentials) {
    const setup = this.options[HTTP2_SETUP];
    const { commonServerOptions: common } = this;
    if (setup !== undefined) {
      common.settings = { ...common.settings, maxHeaderListSize: setup.maxHeaderBytes };
      common.streamResetBurst = setup.maxResetsPerS;
      common.streamResetRate = setup.maxResetsPerS;
    }
    const http2Server = original.call(this, credentials);
    setup?.onServer(http2Server);
    return http2Server;
  };
});

/*
 * grpc-js answers UNIMPLEMENTED to an unknown method before any interceptor runs, which would tell
 * a client without a key which methods there are. With a handler in place the call reaches the
 * interceptor, which knows the methods and answers instead.
 */
replace(server, '_retrieveHandler', (original) => {
  return function retrieveHandler(this: ServerInternals, path) {
    const handler = original.call(this, path);
    return handler ?? (path.startsWith(KEYED_PATHS) ? handlerOfUnknown(path) : null);
  };
});

/*
 * node:http2 keeps the first of several authorization headers and drops the others silently. Here
 * all of them reach the metadata, so that the interceptor can refuse the call. A call too many is
 * refused before anything is made of it; and one that is answered by now, as no gRPC or without a
 * method, is closed: grpc-js would keep it for as long as its client goes on.
 */
replace(server, '_streamHandler', (original) => {
  return function streamHandler(
    this: ServerInternals,
    interceptors,
    stream,
    headers,
    flags,
    rawHeaders,
  ) {
    // A call that was reset before it came here is worth nothing more, not even its refusal.
    stream.once('error', () => {});
    // Of one that is reset without an error while its answer goes out, node:http2 waits for the end
    // of the answer, which nobody sends any more.
    stream.once('aborted', endReset);
    const setup = this.options[HTTP2_SETUP];
    const connection = connectionOf(stream.session);
    const begin = (): void => {
      if (stream.destroyed || connection?.isGivenUp === true) return;
      const path = String(headers[':path']);
      const kind = path.startsWith(KEYED_PATHS) ? 'keyed' : 'open';
      if (setup !== undefined && connection?.beginCall(kind) === false) {
        refuseCall(stream, setup.refuse(path));
        return;
      }
      (stream as CountedStream)[COUNTED_BY] = connection;
      (stream as CountedStream)[KIND] = kind;
      stream.once('close', endCall);
      const first = rawHeaders.indexOf(AUTHORIZATION);
      const isSeveral = first !== -1 && rawHeaders.includes(AUTHORIZATION, first + 1);
      const all = isSeveral ? { ...headers, [AUTHORIZATION]: keysIn(rawHeaders) } : headers;
      original.call(this, interceptors, stream, all, flags, rawHeaders);
      if (stream.headersSent && !stream.endAfterHeaders) {
        closeSoon(stream);
      }
    };
    const pace = setup?.pace;
    (stream as CountedStream)[PACE] = pace;
    const turn = pace?.turn(stream.session, () => !stream.destroyed);
    if (turn === undefined) begin();
    else {
      (stream as CountedStream)[ARRIVED_AT_MS] = performance.now();
      // Whose calls wait may well give them up, which a stranger may do less often.
      const key = headers[AUTHORIZATION];
      if (connection?.isKnown === false && typeof key === 'string' && setup?.knows(key) === true) {
        connection.noteKey();
      }
      void turn.then(begin);
    }
  };
});

/*
 * grpc-js counts a deadline in 32 bits of milliseconds: one that is further away would have passed
 * at once, or at any time.
 */
replace(baseCall, 'handleTimeoutHeader', (original) => {
  return function handleTimeoutHeader(this: CallInternals, header) {
    const [, count = '', unit = ''] = /^(\d{1,8})([HMS])$/.exec(header) ?? [];
    const seconds = Number(count) * (SECONDS.get(unit) ?? 0);
    original.call(this, seconds > LONGEST_TIMEOUT_S ? `${LONGEST_TIMEOUT_S}S` : header);
  };
});

/*
 * grpc-js limits the size of each message, but neither what all calls together hold of them nor
 * the number of pieces that it keeps of one.
 */
replace(baseCall, 'handleDataFrame', (original) => {
  return function handleDataFrame(this: CallInternals, data) {
    const connection = (this.stream as CountedStream)[COUNTED_BY];
    connection?.receive(data.length);
    if (connection?.isGivenUp === true) return;
    try {
      if (!this.cancelled) this[HOOKS]?.take(data.length);
    } catch (error) {
      this.sendStatus(toStatus(error));
      return;
    }
    original.call(this, data);
    joinSmall(this.decoder.readPartialMessage);
  };
});

/* Nor does it limit the answers that wait until their clients read them. */
replace(baseCall, 'serializeMessage', (original) => {
  return function serializeMessage(this: CallInternals, message) {
    const bytes = original.call(this, message);
    this[HOOKS]?.takeAnswer(bytes.length);
    return bytes;
  };
});

/*
 * Nor does it limit what it unpacks at one time, for which messages have to wait for their turns;
 * and it calls broken compression INTERNAL.
 */
replace(baseCall, 'decompressMessage', (original) => {
  return function decompressMessage(this: CallInternals, framed, encoding) {
    if (!isCompression(encoding)) return original.call(this, framed, encoding);
    const take = (bytes: number): void => {
      // Nobody counts, or wants, what a call unpacks to that has ended.
      if (this.checkCancelled()) throw invalid('The call has ended');
      this[HOOKS]?.take(bytes);
    };
    const message = framed.subarray(FRAME_HEADER_BYTES);
    const stream = this.stream as CountedStream;
    const unpack = async (): Promise<Buffer> => {
      await stream[PACE]?.turn(stream.session, () => !stream.destroyed);
      return await decompress(message, encoding, this.maxReceiveMessageSize, take);
    };
    return unpack().catch((error: unknown) => {
      throw toStatus(error);
    });
  };
});

/*
 * A call that is answered before its request has ended is closed, as other gRPC servers do: else
 * a refused client holds the stream, and a server that wants to stop, for as long as it likes.
 */
replace(baseCall, 'sendStatus', (original) => {
  return function sendStatus(this: CallInternals, answer) {
    // What fails because its client has gone is no fault of anybody, and no status of the call.
    if (this.checkCancelled()) return;
    const isEarly = !this.metadataSent && !this.receivedHalfClose;
    original.call(this, this[HOOKS]?.answer(answer) ?? answer);
    if (!isEarly) return;
    (this.stream as CountedStream)[COUNTED_BY]?.noteRefusal();
    closeSoon(this.stream);
  };
});

/** On the stream itself, like the hooks of its call. */
const COUNTED_BY = Symbol('counted by');
const KIND = Symbol('kind');
const ARRIVED_AT_MS = Symbol('arrived at');
const PACE = Symbol('pace');

interface CountedStream extends ServerHttp2Stream {
  [COUNTED_BY]?: Connection | undefined;
  [KIND]?: CallKind;
  [ARRIVED_AT_MS]?: number;
  [PACE]?: RequestScheduler | undefined;
}

/** When a call arrived that had to wait for its turn. */
export function arrivedAtMs(call: ServerInterceptingCallInterface): number | undefined {
  return ((call as unknown as CallInternals).stream as CountedStream)[ARRIVED_AT_MS];
}

function endReset(this: ServerHttp2Stream): void {
  connectionOf(this.session)?.noteReset();
  setImmediate(() => this.destroy());
}

/** Some versions of node (22.23, 26.10) forget an answer that has not left by the time of the close. */
function closeSoon(stream: ServerHttp2Stream): void {
  setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
}

function endCall(this: CountedStream): void {
  const { [COUNTED_BY]: connection, [KIND]: kind } = this;
  if (kind !== undefined) connection?.endCall(kind);
  // Of what has been answered no abort is told.
  if (!this.aborted && this.rstCode !== constants.NGHTTP2_NO_ERROR) connection?.noteReset();
}

function refuseCall(stream: ServerHttp2Stream, { code, details, metadata }: CallStatus): void {
  const answer = {
    ...metadata?.toHttp2Headers(),
    ':status': 200,
    'content-type': 'application/grpc+proto',
    'grpc-status': String(code),
    'grpc-message': encodeURI(details ?? ''),
  };
  stream.respond(answer, { endStream: true });
  closeSoon(stream);
}

function keysIn(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1] === AUTHORIZATION);
}

function handlerOfUnknown(path: string): Handler {
  const never = (): never => {
    throw new Error(`the interceptor let a call of ${path} pass`);
  };
  return { path, type: 'unary', func: never, serialize: never, deserialize: never };
}

/** What a call that fails within the server is answered. */
export function toStatus(error: unknown): CallStatus {
  if (error instanceof VectordError) return { code: error.grpcStatus, details: error.message };
  return { code: status.INTERNAL, details: 'Internal server error' };
}

/** Puts `make(original)` in the place of a method, which has to be there. */
function replace<Target extends object, Name extends keyof Target>(
  target: Target,
  name: Name,
  make: (original: Target[Name]) => Target[Name],
): void {
  const original = target[name];
  if (typeof original !== 'function') {
    throw new Error(`this version of grpc-js has no method ${String(name)}`);
  }
  target[name] = make(original);
}
