import { randomUUID } from 'node:crypto';
import type { CallContext } from 'nice-grpc';
import type { OnRequestEnd } from '../core/request-end.js';
import type { Decoder } from '../wire/decoder.js';
import type { Answer, ParserName } from '../wire/parsers.js';
import { noteRead } from './call-notes.js';
import { REQUEST_ID, toServerError } from './server-error.js';

/** Reads what a message holds, by the parser of this name, and tells the call of it. */
export type ReadMessage = <Name extends ParserName>(
  name: Name,
  bytes: Uint8Array,
  onRequestEnd: OnRequestEnd,
) => Answer<Name> | Promise<Answer<Name>>;

export function messageReader(decoder: Decoder): ReadMessage {
  return (name, bytes, onRequestEnd) => {
    // The memory of a large message goes to another thread: it has no length afterwards.
    const { length } = bytes;
    const note = (asked: Answer<typeof name>): Answer<typeof name> => {
      noteRead(bytes, length, asked);
      return asked;
    };
    const asked = decoder.decode(name, bytes, onRequestEnd);
    return asked instanceof Promise ? asked.then(note) : note(asked);
  };
}

/** A method that answers failures; a plain function, because a middleware costs 9 % of a call. */
export function answering<Request extends object, Response>(
  answer: (request: Request, context: CallContext) => Promise<Response>,
) {
  return async (request: Request | Error, context: CallContext): Promise<Response> => {
    try {
      if (request instanceof Error) throw request;
      return await answer(request, context);
    } catch (error) {
      throw failure(error, context);
    }
  };
}

/** The same of a method that answers any number of messages. */
export function answeringAll<Request extends object, Response>(
  answer: (request: Request, context: CallContext) => AsyncIterable<Response>,
) {
  return async function* answerAll(
    request: Request,
    context: CallContext,
  ): AsyncGenerator<Response> {
    try {
      yield* answer(request, context);
    } catch (error) {
      throw failure(error, context);
    }
  };
}

/** What a client is told of a failure, by a name that the log has, too. */
function failure(error: unknown, context: CallContext): Error {
  const requestId = randomUUID();
  context.trailer.set(REQUEST_ID, requestId);
  return toServerError(error, requestId);
}

export function callEnd(context: CallContext): OnRequestEnd {
  return (listener) => {
    // Made when it is asked for, and most calls end before anyone asks.
    const { signal } = context;
    if (signal.aborted) listener();
    else signal.addEventListener('abort', listener, { once: true });
  };
}

/**
 * The end of a call for what is done for one message of it after the other: the work for a message
 * hears nothing any more once that for the next one begins.
 */
export class StreamEnd {
  #listeners: (() => void)[] = [];

  constructor(private readonly signal: AbortSignal) {
    signal.addEventListener('abort', () => this.#listeners.forEach((listener) => listener()));
  }

  /** The end for the next message. */
  next(): OnRequestEnd {
    const listeners: (() => void)[] = [];
    this.#listeners = listeners;
    return (listener) => {
      if (this.signal.aborted) listener();
      else listeners.push(listener);
    };
  }
}
