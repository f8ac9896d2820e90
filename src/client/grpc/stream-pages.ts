import type { Metadata } from 'nice-grpc';
import { ConnectionLostError } from '../errors.js';
import type { Page } from '../model.js';
import { onAbort } from '../on-abort.js';
import type { Attempt, FullScroll, Pages } from '../transport.js';
import type { Connection } from './connection.js';
import { readPage } from './read-points.js';
import { scrollStreamRequest } from './requests.js';

/** A stream that is open. */
interface Stream {
  readonly messages: AsyncIterator<Uint8Array>;
  readonly ending: AbortController;
  trailer: Metadata | undefined;
}

/** The messages of a ScrollStream, of which the next one opens another where one has broken. */
export class StreamPages implements Pages {
  #stream: Stream | undefined;

  constructor(
    private readonly connection: Promise<Connection>,
    private readonly scroll: FullScroll,
  ) {}

  next(after: string | undefined): Attempt<Page> {
    return async (signal) => {
      const { client, failureOf } = await this.connection;
      signal.throwIfAborted();
      const stream = (this.#stream ??= this.#open(client, after));
      const stopListening = onAbort(signal, () => stream.ending.abort(signal.reason));
      try {
        const { done, value } = await stream.messages.next();
        if (done === true)
          throw new ConnectionLostError('the stream ended before its last message');
        const page = readPage(value, this.scroll.include);
        // Nothing comes any more but the status.
        if (page.next === null) await stream.messages.next();
        return page;
      } catch (error) {
        this.close();
        signal.throwIfAborted();
        throw failureOf(error, stream.trailer);
      } finally {
        stopListening();
      }
    };
  }

  close(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    if (stream === undefined) return;
    stream.ending.abort();
    // What ends here is not waited for by anybody.
    void stream.messages.return?.().catch(() => {});
  }

  #open(client: Connection['client'], after: string | undefined): Stream {
    const ending = new AbortController();
    const request = scrollStreamRequest({ ...this.scroll, after });
    const onTrailer = (metadata: Metadata): void => void (stream.trailer = metadata);
    const messages = client.scrollStream(request, { signal: ending.signal, onTrailer });
    const stream: Stream = {
      messages: messages[Symbol.asyncIterator](),
      ending,
      trailer: undefined,
    };
    return stream;
  }
}
