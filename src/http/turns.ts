import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestScheduler } from '../admission/request-scheduler.js';
import { closeConnection } from './connections.js';
import { onRequestEnd } from './request-end.js';

/**
 * Requests that may wait behind others of their connections, all together. Each takes a few KiB,
 * and one read of a socket may bring thousands.
 */
const MAX_WAITING = 4_000;
/** So many of them any connection may have, however many the others have. */
const FAIR_WAITING = 16;

type Handle = (request: IncomingMessage, response: ServerResponse) => unknown;

/** Kept on the socket itself, as in request-end.ts, and on each request that had to wait. */
const LINE = Symbol('line');
const ARRIVED_AT_MS = Symbol('arrived at');

type Late = IncomingMessage & { [ARRIVED_AT_MS]?: number };

/** When a request arrived that had to wait for its turn. */
export function arrivedAtMs(request: Late): number | undefined {
  return request[ARRIVED_AT_MS];
}

/** The requests of one connection. */
interface Line {
  isBusy: boolean;
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[];
}

/**
 * Handles the requests of a connection one after the other, as their answers have to go out, and
 * reads no further while some wait: else a client that sends thousands and reads no answer would
 * have all the answers made and kept. Between two of them other connections have their turn.
 */
export class Turns {
  #waiting = 0;
  #isClosing = false;

  constructor(
    private readonly handle: Handle,
    private readonly pace: RequestScheduler,
  ) {}

  /** From now on each connection is closed behind its next answer. */
  close(): void {
    this.#isClosing = true;
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    const socket: Socket & { [LINE]?: Line } = request.socket;
    // The rest of what was read before a connection was cut is still parsed.
    if (socket.destroyed) return;
    const line = (socket[LINE] ??= { isBusy: false, waiting: [] });
    if (line.isBusy) this.#wait(socket, line, request, response);
    else this.#begin(socket, line, request, response);
  }

  #begin(socket: Socket, line: Line, request: IncomingMessage, response: ServerResponse): void {
    line.isBusy = true;
    if (this.#isClosing) response.shouldKeepAlive = false;
    onRequestEnd(response, () => {
      if (line.waiting.length === 0) line.isBusy = false;
      else setImmediate(() => this.#next(socket, line));
    });
    const turn = this.pace.turn(socket, () => !socket.destroyed, line.waiting);
    if (turn === undefined) this.handle(request, response);
    else {
      noteArrival(request);
      void this.#handleLater(turn, request, response);
    }
  }

  async #handleLater(
    turn: Promise<void>,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    await turn;
    if (!request.socket.destroyed) this.handle(request, response);
  }

  #wait(socket: Socket, line: Line, request: IncomingMessage, response: ServerResponse): void {
    if (this.#waiting >= MAX_WAITING && line.waiting.length >= FAIR_WAITING) {
      closeConnection(socket, 'pipelining');
      return;
    }
    noteArrival(request);
    if (line.waiting.length === 0) this.#stopReading(socket, line);
    line.waiting.push([request, response]);
    this.#waiting += 1;
  }

  #next(socket: Socket, line: Line): void {
    const next = line.waiting.shift();
    if (next === undefined) return;
    this.#waiting -= 1;
    if (line.waiting.length === 0) socket.resume();
    this.#begin(socket, line, ...next);
  }

  /** Until nothing waits: node itself resumes the socket whenever a request has ended. */
  #stopReading(socket: Socket, line: Line): void {
    const stayPaused = (): void => {
      if (line.waiting.length > 0) socket.pause();
      else {
        socket.off('resume', stayPaused);
        socket.off('close', sparingTraces);
        socket.off('close', forget);
      }
    };
    const { stackTraceLimit } = Error;
    const forget = (): void => {
      Error.stackTraceLimit = stackTraceLimit;
      this.#waiting -= line.waiting.length;
      line.waiting.length = 0;
    };
    socket.pause();
    socket.on('resume', stayPaused);
    // In between node makes an error for each request that waits, and most of it is its trace.
    socket.prependOnceListener('close', sparingTraces);
    socket.once('close', forget);
  }
}

function noteArrival(request: Late): void {
  request[ARRIVED_AT_MS] ??= performance.now();
}

function sparingTraces(): void {
  Error.stackTraceLimit = 0;
}
