import { once } from 'node:events';
import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ServerError, Status } from 'nice-grpc-common';
import { messageOf } from '../../core/start-error.js';
import type { ChunkPool } from './chunk-pool.js';
import { ACCEPTED_ENCODINGS, compress, decompress, isEncoding } from './compression.js';
import { Context } from './context.js';
import { Deadline } from './deadline.js';
import {
  frame,
  framePrefix,
  isChunked,
  MessageReader,
  PREFIX_BYTES,
  type ChunkedMessage,
  type MessageLimit,
  type RawMessage,
  writePrefix,
} from './messages.js';
import type { Encoded, Method } from './methods.js';
import type { CallPolicy, OpenCall } from './policy.js';
import { Requests } from './requests.js';
import { statusOf, statusTrailers } from './status.js';

const CONTENT_TYPE = 'application/grpc+proto';

/** One call, from its headers to its status. */
export class Call implements OpenCall {
  readonly #context: Context;
  readonly #encoding: string | undefined;
  #reader: MessageReader | undefined;
  #requests: Requests | undefined;
  #first: RawMessage | undefined;
  #isAnswered = false;
  #deadline: Deadline | undefined;

  constructor(
    private readonly stream: ServerHttp2Stream,
    private readonly headers: IncomingHttpHeaders,
    private readonly policy: CallPolicy,
    private readonly pool: ChunkPool,
    private readonly onCutShort: () => void,
  ) {
    this.#context = new Context(headers, stream, () => this.#sendHeaders());
    const encoding = headers['grpc-encoding'];
    this.#encoding = typeof encoding === 'string' ? encoding : undefined;
    stream.on('error', ignore);
    stream.on('close', () => this.#close());
    // Of a call that is reset while its answer goes out node waits for an end that never comes.
    stream.on('aborted', () => process.nextTick(() => stream.destroy()));
  }

  /** Reads the request and has the method answer it. */
  start(method: Method, limit: MessageLimit): void {
    const refusal = this.policy.refusal ?? this.#startDeadline() ?? this.#checkEncoding();
    if (refusal !== undefined) {
      this.fail(refusal);
      return;
    }
    this.policy.watch(this);
    if (method.requestStream) {
      this.#requests = new Requests(this.stream, ({ receivedBytes }) =>
        this.policy.handled(receivedBytes()),
      );
      void this.#run(method, this.#requests);
    }
    const reader = new MessageReader(limit, (message) => this.#take(method, message, limit));
    this.#reader = reader;
    this.stream.on('data', (chunk: Buffer) => this.#read(reader, chunk));
    this.stream.on('end', () => this.#endRequest(method, reader, limit));
  }

  get awaitsMore(): boolean {
    if (this.#requests === undefined) return true;
    return this.#reader?.isWithin === true && !this.stream.isPaused();
  }

  get unreadBytes(): number {
    return this.stream.readableLength;
  }

  #checkEncoding(): ServerError | undefined {
    const encoding = this.#encoding;
    if (encoding === undefined || encoding === 'identity' || isEncoding(encoding)) return undefined;
    const text = `the grpc-encoding is ${encoding}, expected one of ${ACCEPTED_ENCODINGS}`;
    return new ServerError(Status.UNIMPLEMENTED, text);
  }

  #startDeadline(): ServerError | undefined {
    const text = this.headers['grpc-timeout'];
    if (text === undefined) return undefined;
    this.#deadline = typeof text === 'string' ? Deadline.parse(text) : undefined;
    if (this.#deadline === undefined) {
      const expected = 'at most eight digits and one of H, M, S, m, u and n';
      return invalid(`the grpc-timeout is ${JSON.stringify(text)}, expected ${expected}`);
    }
    if (this.#deadline.hasPassed) return deadlineExceeded();
    this.#deadline.start(() => this.fail(deadlineExceeded()));
    return undefined;
  }

  #read(reader: MessageReader, chunk: Buffer): void {
    if (this.#isAnswered) return;
    try {
      this.policy.received(chunk.length);
      reader.read(chunk);
    } catch (error) {
      this.fail(error);
    }
  }

  #take(method: Method, message: RawMessage, limit: MessageLimit): void {
    if (this.#requests !== undefined) {
      const length = PREFIX_BYTES + message.bytes.length;
      let received = length;
      const decoded = this.#decode(method, message, limit, (bytes) => (received += bytes));
      this.#requests.push({ message: decoded, length, receivedBytes: () => received });
    } else if (this.#first === undefined) this.#first = message;
    else throw unexpected('the call has a second message');
  }

  #endRequest(method: Method, reader: MessageReader, limit: MessageLimit): void {
    this.policy.requestEnded();
    if (this.#isAnswered) return;
    if (reader.isWithin) this.fail(invalid('the last message is cut off'));
    else if (this.#requests !== undefined) this.#requests.end();
    else if (this.#first !== undefined) void this.#runOne(method, this.#first, limit);
    else this.fail(unexpected('the call has no message'));
  }

  async #runOne(method: Method, message: RawMessage, limit: MessageLimit): Promise<void> {
    this.#first = undefined;
    try {
      const request = this.#decode(method, message, limit);
      await this.#run(method, request instanceof Promise ? await request : request);
    } catch (error) {
      this.fail(error);
    }
  }

  /** The message, or a promise of one that is compressed; `onBytes` hears of what it becomes. */
  #decode(
    { decode }: Method,
    { bytes, isCompressed }: RawMessage,
    limit: MessageLimit,
    onBytes: (bytes: number) => void = ignore,
  ): unknown {
    const decodeBytes = (plain: Buffer): unknown => {
      try {
        const message = decode(plain);
        this.policy.decoded(message);
        return message;
      } catch (error) {
        throw invalid(`the message is malformed: ${messageOf(error)}`);
      }
    };
    if (!isCompressed) return decodeBytes(bytes);
    return decompress(bytes, this.#encoding, limit, (length) => {
      if (this.#isAnswered) throw invalid('the call has ended');
      this.policy.received(length);
      onBytes(length);
    }).then(decodeBytes);
  }

  #run(method: Method, request: unknown): Promise<void> {
    const { trace } = this.policy;
    if (trace === undefined) return this.#handle(method, request);
    return trace.run(() => this.#handle(method, request));
  }

  async #handle(method: Method, request: unknown): Promise<void> {
    try {
      if (this.#deadline?.hasPassed === true) throw deadlineExceeded();
      // Nothing is begun for a client that would not hear the answer.
      if (this.#isAnswered) return;
      const answer = method.handle(request, this.#context);
      if (method.responseStream) {
        await this.#sendAll(method, answer as AsyncIterable<unknown>);
      } else await this.#sendOne(method, await answer);
    } catch (error) {
      this.fail(error);
    }
  }

  async #sendOne({ encode }: Method, response: unknown): Promise<void> {
    if (this.#isAnswered) return;
    const message = encode(response);
    if (isChunked(message) && this.#answerEncoding === undefined) {
      await this.#sendChunks(message);
      if (!this.#isAnswered) this.#end(Status.OK, '');
      return;
    }
    const { framed } = this.#frame(message);
    const bytes = framed instanceof Promise ? await framed : framed;
    if (this.#isAnswered) return;
    this.#sendHeaders();
    this.#end(Status.OK, '', bytes);
  }

  async #sendAll({ encode }: Method, responses: AsyncIterable<unknown>): Promise<void> {
    for await (const response of responses) {
      const message = encode(response);
      if (isChunked(message) && this.#answerEncoding === undefined) {
        await this.#sendChunks(message);
        if (this.#isAnswered) return;
        this.policy.sent(message.byteLength);
        continue;
      }
      const { framed, byteLength } = this.#frame(message);
      const bytes = await framed;
      if (this.#isAnswered) return;
      this.#sendHeaders();
      if (!this.stream.write(bytes, this.#giveBack(bytes))) await this.#drained();
      this.policy.sent(byteLength);
    }
    if (this.#isAnswered) return;
    this.#sendHeaders();
    this.#end(Status.OK, '');
  }

  /** Makes each chunk when the client has read the ones before, and lets others have their turn. */
  async #sendChunks(message: ChunkedMessage): Promise<void> {
    const { pool } = this;
    this.policy.sending(message.byteLength);
    this.#sendHeaders();
    const head = framePrefix(message.byteLength);
    for (const chunk of message.chunks(head, (bytes) => pool.take(bytes))) {
      const isReady = this.stream.write(chunk, this.#giveBack(chunk));
      // oxlint-disable-next-line no-await-in-loop -- the wait is what the loop is for
      await (isReady ? nextTurn() : this.#drained());
      if (this.#isAnswered) return;
    }
  }

  /** Gives memory back that was sent. What failed to be written may still be on its way. */
  #giveBack(bytes: Uint8Array): (error?: Error | null) => void {
    return (error) => {
      if (error === null || error === undefined) this.pool.give(bytes);
    };
  }

  async #drained(): Promise<void> {
    await once(this.stream, 'drain', this.#context);
  }

  /** Answers are compressed as the client's own messages are. */
  get #answerEncoding() {
    const encoding = this.#encoding;
    return encoding !== undefined && isEncoding(encoding) ? encoding : undefined;
  }

  /** A message as it is sent, and its length by itself. */
  #frame(message: Encoded): { byteLength: number; framed: Buffer | Promise<Buffer> } {
    const encoding = this.#answerEncoding;
    if (encoding === undefined && message.finishBehind !== undefined) {
      const framed = message.finishBehind(PREFIX_BYTES, (bytes) => this.pool.take(bytes));
      const byteLength = framed.length - PREFIX_BYTES;
      this.policy.sending(byteLength);
      return { byteLength, framed: writePrefix(framed) };
    }
    const bytes = message.finish();
    this.policy.sending(bytes.length);
    const framed = encoding === undefined ? frame(bytes) : compress(bytes, encoding);
    return { byteLength: bytes.length, framed };
  }

  #sendHeaders(): void {
    if (this.stream.headersSent || this.stream.closed) return;
    const headers: OutgoingHttpHeaders = {
      ':status': 200,
      'content-type': CONTENT_TYPE,
      'grpc-accept-encoding': ACCEPTED_ENCODINGS,
    };
    const encoding = this.#answerEncoding;
    if (encoding !== undefined) headers['grpc-encoding'] = encoding;
    this.#context.addHeader(headers);
    this.stream.respond(headers, { waitForTrailers: true });
  }

  /** Answers with a failure: in the headers alone, if none were sent. */
  fail(error: unknown): void {
    // What fails because its client has gone is no status of the call.
    if (this.#isAnswered || this.stream.closed) return;
    const { code, details } = statusOf(error);
    if (this.stream.headersSent) {
      this.#end(code, details, undefined, error);
      return;
    }
    const headers = {
      ':status': 200,
      'content-type': CONTENT_TYPE,
      'grpc-accept-encoding': ACCEPTED_ENCODINGS,
      ...this.#answer(code, details, error),
    };
    this.#context.abort();
    this.stream.respond(headers, { endStream: true });
    this.#refuseRest();
  }

  cut(): void {
    this.stream.close(constants.NGHTTP2_CANCEL);
  }

  #end(code: Status, details: string, last?: Buffer, failure?: unknown): void {
    const trailers = this.#answer(code, details, failure);
    if (code !== Status.OK) this.#context.abort();
    if (this.stream.closed) return;
    this.stream.once('wantTrailers', () => {
      if (this.stream.closed) return;
      this.stream.sendTrailers(trailers);
      this.#refuseRest();
    });
    if (last === undefined) this.stream.end();
    else this.stream.end(last, this.#giveBack(last));
  }

  /** Decides the status; answers the trailers that say it. */
  #answer(code: Status, details: string, failure: unknown): OutgoingHttpHeaders {
    this.#isAnswered = true;
    // What waits unread is dropped: it would take memory, and node would never close the stream.
    if (this.stream.isPaused()) this.stream.resume();
    this.#deadline?.stop();
    const trailers = statusTrailers(code, details);
    this.#context.addTrailer(trailers);
    this.policy.answered(code, trailers, failure);
    return trailers;
  }

  /** A client that still sends is told that nobody reads it. */
  #refuseRest(): void {
    if (!this.stream.readableEnded) closeSoon(this.stream, this.onCutShort);
  }

  #close(): void {
    this.#deadline?.stop();
    this.#requests?.end();
    this.policy.ended();
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#context.abort();
  }
}

/**
 * Closes a stream that has been answered; `onCutShort` hears of it if its request has not ended. Some
 * versions of Node.js (22.23, 26.10) forget an answer that has not left before the close.
 */
export function closeSoon(stream: ServerHttp2Stream, onCutShort: () => void): void {
  setImmediate(() => {
    if (!stream.closed && stream.state.remoteClose === 0) onCutShort();
    stream.close(constants.NGHTTP2_NO_ERROR);
  });
}

function invalid(text: string): ServerError {
  return new ServerError(Status.INVALID_ARGUMENT, text);
}

/** A method takes one message, and this is how gRPC says that it takes no other number of them. */
function unexpected(text: string): ServerError {
  return new ServerError(Status.UNIMPLEMENTED, text);
}

function deadlineExceeded(): ServerError {
  return new ServerError(Status.DEADLINE_EXCEEDED, 'The deadline of the call has passed');
}

function ignore(): void {
  // The call's end says what there is to say.
}
