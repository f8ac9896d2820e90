import { once } from 'node:events';
import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { ServerError, Status } from 'nice-grpc';
import { Context } from './context.js';
import { readTimeout, startDeadline } from './deadline.js';
import {
  ACCEPTED_ENCODINGS,
  compressedFrame,
  decompress,
  frame,
  isEncoding,
  MessageReader,
  type RawMessage,
} from './messages.js';
import type { Method } from './methods.js';
import { Requests } from './requests.js';
import { statusOf, statusTrailers } from './status.js';

const CONTENT_TYPE = 'application/grpc+proto';

/** One call, from its headers to its status. */
export class Call {
  readonly #context: Context;
  readonly #reader: MessageReader;
  readonly #encoding: string | undefined;
  #requests: Requests | undefined;
  #first: RawMessage | undefined;
  #isAnswered = false;
  #endDeadline: (() => void) | undefined;

  constructor(
    private readonly method: Method,
    private readonly stream: ServerHttp2Stream,
    private readonly headers: IncomingHttpHeaders,
    private readonly maxBytes: number,
  ) {
    this.#context = new Context(headers, stream, () => this.#sendHeaders());
    this.#reader = new MessageReader(maxBytes);
    const encoding = headers['grpc-encoding'];
    this.#encoding = typeof encoding === 'string' ? encoding : undefined;
    stream.on('error', ignore);
    stream.on('close', () => this.#close());
    // Of a call that is reset while its answer goes out node waits for an end that never comes.
    stream.on('aborted', () => setImmediate(() => stream.destroy()));
    if (!this.#checkEncoding() || !this.#startDeadline()) return;
    if (method.definition.requestStream) {
      this.#requests = new Requests(stream);
      void this.#run(this.#requests);
    }
    stream.on('data', (chunk: Buffer) => this.#read(chunk));
    stream.on('end', () => this.#endRequest());
  }

  /** False where the call has failed. */
  #checkEncoding(): boolean {
    const encoding = this.#encoding;
    if (encoding === undefined || encoding === 'identity' || isEncoding(encoding)) return true;
    const text = `the grpc-encoding is ${encoding}, expected one of ${ACCEPTED_ENCODINGS}`;
    this.#fail(new ServerError(Status.UNIMPLEMENTED, text));
    return false;
  }

  /** False where the call has failed. */
  #startDeadline(): boolean {
    const text = this.headers['grpc-timeout'];
    if (text === undefined) return true;
    const ms = typeof text === 'string' ? readTimeout(text) : undefined;
    if (ms === undefined) {
      this.#fail(invalid('the grpc-timeout is malformed'));
      return false;
    }
    this.#endDeadline = startDeadline(ms, () => {
      this.#fail(new ServerError(Status.DEADLINE_EXCEEDED, 'Deadline exceeded'));
    });
    return true;
  }

  #read(chunk: Buffer): void {
    if (this.#isAnswered) return;
    try {
      this.#reader.read(chunk, (message) => {
        if (this.#requests !== undefined) this.#requests.push(this.#decode(message));
        else if (this.#first === undefined) this.#first = message;
        else throw invalid('the call has a second message');
      });
    } catch (error) {
      this.#fail(error);
    }
  }

  #endRequest(): void {
    if (this.#isAnswered) return;
    if (this.#reader.isWithin) this.#fail(invalid('the last message is cut off'));
    else if (this.#requests !== undefined) this.#requests.end();
    else if (this.#first !== undefined) void this.#runOne(this.#first);
    else this.#fail(invalid('the call has no message'));
  }

  async #runOne(message: RawMessage): Promise<void> {
    try {
      const request = this.#decode(message);
      await this.#run(request instanceof Promise ? await request : request);
    } catch (error) {
      this.#fail(error);
    }
  }

  #decode({ bytes, isCompressed }: RawMessage): unknown {
    const { requestType } = this.method.definition;
    if (!isCompressed) return requestType.decode(bytes);
    const plain = decompress(bytes, this.#encoding, this.maxBytes);
    return plain.then((message) => requestType.decode(message));
  }

  async #run(request: unknown): Promise<void> {
    const { method } = this;
    try {
      if (this.#isAnswered) return;
      const answer = method.handle(request, this.#context);
      if (method.definition.responseStream) await this.#sendAll(answer as AsyncIterable<unknown>);
      else await this.#sendOne(await answer);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #sendOne(response: unknown): Promise<void> {
    const message = this.#frame(response);
    const bytes = message instanceof Promise ? await message : message;
    if (this.#isAnswered) return;
    this.#sendHeaders();
    this.#end(Status.OK, '', bytes);
  }

  async #sendAll(responses: AsyncIterable<unknown>): Promise<void> {
    for await (const response of responses) {
      const bytes = await this.#frame(response);
      if (this.#isAnswered) return;
      this.#sendHeaders();
      if (!this.stream.write(bytes)) await once(this.stream, 'drain', this.#context);
    }
    if (this.#isAnswered) return;
    this.#sendHeaders();
    this.#end(Status.OK, '');
  }

  /** Compressed as the client's own messages are. */
  #frame(response: unknown): Buffer | Promise<Buffer> {
    const message = this.method.definition.responseType.encode(response).finish();
    const encoding = this.#encoding;
    if (encoding === undefined || !isEncoding(encoding)) return frame(message);
    return compressedFrame(message, encoding);
  }

  #sendHeaders(): void {
    if (this.stream.headersSent || this.stream.destroyed) return;
    const headers: OutgoingHttpHeaders = {
      ':status': 200,
      'content-type': CONTENT_TYPE,
      'grpc-accept-encoding': ACCEPTED_ENCODINGS,
    };
    if (this.#encoding !== undefined && isEncoding(this.#encoding)) {
      headers['grpc-encoding'] = this.#encoding;
    }
    this.#context.addHeader(headers);
    this.stream.respond(headers, { waitForTrailers: true });
  }

  /** Answers with a failure: in the headers alone, if none were sent. */
  #fail(error: unknown): void {
    if (this.#isAnswered) return;
    this.#context.abort();
    const { code, details } = statusOf(error);
    if (this.stream.headersSent || this.stream.destroyed) {
      this.#end(code, details);
      return;
    }
    this.#isAnswered = true;
    const headers = {
      ':status': 200,
      'content-type': CONTENT_TYPE,
      'grpc-accept-encoding': ACCEPTED_ENCODINGS,
      ...statusTrailers(code, details),
    };
    this.#context.addTrailer(headers);
    this.stream.respond(headers, { endStream: true });
    this.#refuseRest();
  }

  #end(code: Status, details: string, last?: Buffer): void {
    this.#isAnswered = true;
    if (this.stream.destroyed) return;
    this.stream.once('wantTrailers', () => {
      if (this.stream.destroyed) return;
      const trailers = statusTrailers(code, details);
      this.#context.addTrailer(trailers);
      this.stream.sendTrailers(trailers);
      this.#refuseRest();
    });
    if (last === undefined) this.stream.end();
    else this.stream.end(last);
  }

  /** A client that still sends is told that nobody reads it. */
  #refuseRest(): void {
    if (this.stream.readableEnded) return;
    // Some versions of Node.js (22.23, 26.10) forget an answer that has not left before the close.
    setImmediate(() => this.stream.close(constants.NGHTTP2_NO_ERROR));
  }

  #close(): void {
    this.#endDeadline?.();
    this.#requests?.end();
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#context.abort();
  }
}

function invalid(text: string): ServerError {
  return new ServerError(Status.INVALID_ARGUMENT, text);
}

function ignore(): void {
  // The call's end says what there is to say.
}
