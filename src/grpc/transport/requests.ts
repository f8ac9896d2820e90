import type { ServerHttp2Stream } from 'node:http2';

/** Messages that may wait before the client has to. */
const MOST_WAITING = 16;

/** The messages of a call that streams, for its handler. */
export class Requests implements AsyncIterable<unknown> {
  readonly #waiting: unknown[] = [];
  #wake: (() => void) | undefined;
  #hasEnded = false;

  constructor(private readonly stream: ServerHttp2Stream) {}

  push(message: unknown): void {
    // A message that cannot be decompressed fails where it is read, if it is.
    if (message instanceof Promise) message.catch(() => undefined);
    this.#waiting.push(message);
    if (this.#waiting.length >= MOST_WAITING) this.stream.pause();
    this.#wake?.();
  }

  end(): void {
    this.#hasEnded = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown> {
    for (;;) {
      while (this.#waiting.length > 0) {
        const message = this.#waiting.shift();
        if (this.stream.isPaused()) this.stream.resume();
        yield message;
      }
      if (this.#hasEnded) return;
      // oxlint-disable-next-line no-await-in-loop -- the wait is what the loop is for
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
