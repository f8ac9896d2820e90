import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { onRequestEnd } from './request-end.js';

/**
 * Requests of a connection that may wait behind the one that is being answered. Each takes a few
 * KiB, and one read of a socket may bring thousands.
 */
export const MAX_WAITING = 64;

type Handle = (request: IncomingMessage, response: ServerResponse) => unknown;

/**
 * The requests of one connection, which HTTP/1.1 has answered in their order. They are handled one
 * after the other, and nothing more is read while some wait: otherwise all answers to a client that
 * sends thousands of requests and reads no answer would be made and kept.
 */
export class Pipeline {
  #answering: ServerResponse | undefined;
  readonly #waiting: (readonly [IncomingMessage, ServerResponse])[] = [];

  constructor(
    private readonly socket: Socket,
    private readonly handle: Handle,
    private readonly maxWaiting: number,
  ) {}

  /** What is being answered, as the next on this connection. */
  get answering(): ServerResponse | undefined {
    return this.#answering;
  }

  /** Answers whether there is room for the request. */
  take(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#answering === undefined) {
      this.#begin(request, response);
      return true;
    }
    if (this.#waiting.length >= this.maxWaiting) return false;
    if (this.#waiting.length === 0) this.#stopReading();
    this.#waiting.push([request, response]);
    return true;
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    this.#answering = response;
    // In one turn of the loop a connection has one request handled, however many it sends.
    onRequestEnd(response, () => setImmediate(() => this.#next()));
    this.handle(request, response);
  }

  #next(): void {
    const next = this.#waiting.shift();
    this.#answering = undefined;
    if (next === undefined || this.socket.destroyed) return;
    if (this.#waiting.length === 0) this.socket.resume();
    this.#begin(...next);
  }

  /** Until nothing waits: node itself resumes the socket whenever a request has ended. */
  #stopReading(): void {
    const { socket } = this;
    const stayPaused = (): void => {
      if (this.#waiting.length > 0) socket.pause();
      else socket.off('resume', stayPaused);
    };
    socket.pause();
    socket.on('resume', stayPaused);
  }
}
