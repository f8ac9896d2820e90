import type { ServerHttp2Stream } from 'node:http2';

/** Messages, and bytes of them, that may wait before the client has to. */
const MOST_WAITING = 16;
const MOST_WAITING_BYTES = 256 * 1024;

/** A message of a call that streams. */
export interface StreamedMessage {
  /** The message, or a promise of it. */
  readonly message: unknown;
  /** The bytes that it came in. */
  readonly length: number;
  /** The same, and those that it was decompressed to. */
  readonly receivedBytes: () => number;
}

/** The messages of a call that streams, for its handler. */
export class Requests implements AsyncIterable<unknown> {
  readonly #waiting: StreamedMessage[] = [];
  #waitingBytes = 0;
  #wake: (() => void) | undefined;
  #hasEnded = false;

  constructor(
    private readonly stream: ServerHttp2Stream,
    /** Hears of each message that the handler is done with. */
    private readonly onHandled: (streamed: StreamedMessage) => void,
  ) {}

  push(streamed: StreamedMessage): void {
    const { message, length } = streamed;
    // A message that cannot be decompressed fails where it is read, if it is.
    if (message instanceof Promise) message.catch(() => undefined);
    this.#waiting.push(streamed);
    this.#waitingBytes += length;
    if (this.#isFull) this.stream.pause();
    this.#wake?.();
  }

  end(): void {
    this.#hasEnded = true;
    this.#wake?.();
  }

  get #isFull(): boolean {
    return this.#waiting.length >= MOST_WAITING || this.#waitingBytes >= MOST_WAITING_BYTES;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown> {
    for (;;) {
      for (;;) {
        const next = this.#waiting.shift();
        if (next === undefined) break;
        this.#waitingBytes -= next.length;
        if (this.stream.isPaused() && !this.#isFull) this.stream.resume();
        yield next.message;
        this.onHandled(next);
      }
      if (this.#hasEnded) return;
      // oxlint-disable-next-line no-await-in-loop -- the wait is what the loop is for
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
