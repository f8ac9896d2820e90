import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { ServerError, Status } from 'nice-grpc';

/**
 * What a server asks and tells of its connections: who may call, and what a call may take. The
 * transport itself knows the protocol, and no keys or limits but that of one message.
 */
export interface Policy {
  /** A connection has begun. */
  connect(session: ServerHttp2Session, socket: Socket): ConnectionPolicy;
}

export interface ConnectionPolicy {
  /** Whether it is being closed, so that nothing that still comes of it is looked at. */
  readonly isClosing: boolean;
  /** A call has begun: its headers have come, and nothing else of it. */
  begin(path: string, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): CallPolicy;
  /** A call of this connection was reset by its client, when so much of its answer was not sent. */
  noteReset(unsentBytes: number): void;
  /** A call was answered and closed before its request had ended: its client may reset it then. */
  noteCutShort(): void;
}

/** The functions that hear of bytes may throw a ServerError, which then is the answer. */
export interface CallPolicy {
  /** Why the call is refused before a byte of its message is read. */
  readonly refusal: ServerError | undefined;
  /** What answers the call is run by it; undefined where nobody wants to know of which call it is. */
  readonly trace?: { run<Answer>(act: () => Answer): Answer } | undefined;
  /** The call goes on: it can be ended from here at any time. */
  watch(call: OpenCall): void;
  /** Bytes of the request, as they came, and again as they are decompressed. */
  received(bytes: number): void;
  /** A message has been decoded. */
  decoded(message: unknown): void;
  /** All of the request has come. */
  requestEnded(): void;
  /** A message of this size is to be sent. */
  sending(bytes: number): void;
  /** The handler of a stream is done with a message, for which so many bytes were received. */
  handled(bytes: number): void;
  /** A message of a stream has been sent. */
  sent(bytes: number): void;
  /** The status of the call is decided; it may get further trailers. */
  answered(code: Status, trailers: OutgoingHttpHeaders, failure: unknown): void;
  /** The call is over, whether it was answered or not. */
  ended(): void;
}

/** A call as its policy sees it. */
export interface OpenCall {
  /**
   * Whether more of its request has to come: not between the messages of a stream, nor while those
   * that have come wait for their handler and no more is read. Of use until `requestEnded`.
   */
  readonly awaitsMore: boolean;
  /** Bytes of its request that have come and wait unread, until its handler is done with others. */
  readonly unreadBytes: number;
  /** Answers it with a failure. */
  fail(error: ServerError): void;
  /** Ends it without an answer, or within one that its client does not read. */
  cut(): void;
}
