import { messageOf } from '../core/start-error.js';
import type { Engine } from '../engine/native.js';
import type { Logger } from '../observe/logger.js';
import type { Nats } from './nats.js';
import type { Questions } from './questions.js';

const LOOK_MS = 10_000;

/** A stream is trimmed once it is filled to this share, and keeps this share. */
const FILLED = 1 / 2;
const KEPT = 1 / 4;

/**
 * A part of a change may be needed for so long after it was stored: its change comes within 20 s, or
 * never, and a replica reads the parts when it comes to the change.
 */
const PARTS_MS = 60_000;

/**
 * Keeps the stream of a shard from filling up: drops the oldest messages that every replica has
 * applied, but none that was stored less than a minute before the message to which the slowest replica
 * has come. Any node may do it, and does no harm where another has done it already.
 */
export class Trim {
  readonly #looking: NodeJS.Timeout;

  /**
   * @param others the questions to all other replicas
   * @param partsMs how much older a message has to be than that of the slowest replica
   */
  constructor(
    private readonly nats: Nats,
    private readonly engine: Engine,
    private readonly stream: string,
    private readonly others: Questions,
    private readonly logger: Logger,
    private readonly partsMs = PARTS_MS,
  ) {
    this.#looking = setInterval(() => void this.#look(), LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.#looking);
  }

  async #look(): Promise<void> {
    try {
      await this.#trim();
    } catch (error) {
      // A server or a replica is away: the next look comes soon.
      this.logger.debug(
        { stream: this.stream, reason: messageOf(error) },
        'the stream is not trimmed',
      );
    }
  }

  async #trim(): Promise<void> {
    const manager = await this.nats.manager();
    const { state, config } = await manager.streams.info(this.stream);
    const { bytes, messages, first_seq: first } = state;
    const mostBytes = config.max_bytes;
    // Without a bound there is nothing to keep it from.
    if (mostBytes <= 0 || bytes < mostBytes * FILLED) return;
    const own = this.engine.position.sequence;
    const others = await this.others.positions();
    const appliedByAll = Math.min(own, ...others.map(({ sequence }) => sequence));
    // Counts messages, not bytes: more or less than a quarter of the bytes may stay.
    const excess = Math.floor(messages * (1 - (mostBytes * KEPT) / bytes));
    const end = Math.min(appliedByAll + 1, first + excess);
    if (end <= first) return;
    const last = await manager.streams.getMessage(this.stream, { seq: end - 1 });
    const slowest = await manager.streams.getMessage(this.stream, { seq: appliedByAll });
    if (last === null || slowest === null) return;
    if (slowest.time.getTime() - last.time.getTime() < this.partsMs) return;
    const { purged } = await manager.streams.purge(this.stream, { seq: end });
    if (purged > 0) this.logger.info({ stream: this.stream, purged }, 'the stream is trimmed');
  }
}
