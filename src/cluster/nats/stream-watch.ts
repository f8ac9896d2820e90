import type { Nats } from './nats.js';
import { serversOfStream, type StreamServer } from './stream-servers.js';

const LOOK_MS = 5_000;

/** What a stream was when it was last looked at. */
export interface StreamState {
  readonly lastSequence: number;
  readonly bytes: number;
  readonly limitBytes: number;
  readonly servers: readonly StreamServer[];
}

/** Looks at the stream of a shard now and then: a scrape of the metrics waits for no server. */
export class StreamWatch {
  #state: StreamState | undefined;
  readonly #looking: NodeJS.Timeout;

  /** @param onClock is told each time how far the clock of this machine is ahead of that of the server */
  constructor(
    private readonly nats: Nats,
    private readonly stream: string,
    private readonly onClock: (offMs: number) => void,
  ) {
    this.#looking = setInterval(() => void this.#look(), LOOK_MS).unref();
    void this.#look();
  }

  /** Undefined where the last look has found nothing. */
  get state(): StreamState | undefined {
    return this.#state;
  }

  close(): void {
    clearInterval(this.#looking);
  }

  async #look(): Promise<void> {
    try {
      const manager = await this.nats.manager();
      const info = await manager.streams.info(this.stream);
      const { state, config, ts } = info;
      const { last_seq: lastSequence, bytes } = state;
      const servers = serversOfStream(info);
      this.#state = { lastSequence, bytes, limitBytes: config.max_bytes, servers };
      if (ts !== undefined) this.onClock(Date.now() - Date.parse(ts));
    } catch {
      this.#state = undefined;
    }
  }
}
