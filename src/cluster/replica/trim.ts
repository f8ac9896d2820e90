import { messageOf } from '../../core/start-error.js';
import type { Engine } from '../../engine/native.js';
import type { Logger } from '../../observe/logger.js';
import type { Nats } from '../nats/nats.js';
import type { Questions } from '../voting/questions.js';
import { majorityOf } from '../voting/quorum.js';

const LOOK_MS = 10_000;

/** A stream is trimmed once it is filled to this share, and keeps this share. */
const FILLED = 1 / 2;
const KEPT = 1 / 4;
/** From this share on a replica that is away, or does not go on, is waited for no longer. */
const PRESSING = 3 / 4;
/** It keeps this share then. */
const KEPT_PRESSING = 1 / 2;

/**
 * How long a part of a change may be needed after it was stored: its change comes within 20 s, or
 * never, and a replica reads the parts when it comes to the change.
 */
export const PARTS_MS = 60_000;

/**
 * Keeps the stream of a shard from filling up. Once it is half full, it drops the oldest messages that
 * every replica has applied, but keeps each until all have also applied what was stored within a minute
 * after it; while a replica does not answer, it drops none. Once it is three quarters full, it is
 * enough that a majority has: a replica that still needs a dropped message copies the log of another.
 * Any node may trim, and trimming twice does no harm.
 */
export class Trim {
  readonly #looking: NodeJS.Timeout;

  /**
   * @param others the questions to the other replicas
   * @param replicas how many there are
   * @param partsMs how much older a dropped message has to be than what the slowest replica still lacks
   */
  constructor(
    private readonly nats: Nats,
    private readonly engine: Engine,
    private readonly stream: string,
    private readonly others: Questions,
    private readonly replicas: number,
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
    const { state, config, ts: now } = await manager.streams.info(this.stream);
    const { bytes, messages, first_seq: first } = state;
    const mostBytes = config.max_bytes;
    // Without a bound there is nothing to keep it from.
    if (mostBytes <= 0 || bytes < mostBytes * FILLED) return;
    const isPressing = bytes >= mostBytes * PRESSING;
    const applied = await this.#applied(isPressing);
    if (applied === undefined) return;
    // Counts messages, not bytes: more or less than this share of the bytes may stay.
    const kept = isPressing ? KEPT_PRESSING : KEPT;
    const excess = Math.floor(messages * (1 - (mostBytes * kept) / bytes));
    const end = Math.min(applied + 1, first + excess);
    if (end <= first) return;
    const last = await manager.streams.getMessage(this.stream, { seq: end - 1 });
    // What is lacking is stored after the last message that is applied, or, if that is all, after now.
    const slowest = await manager.streams.getMessage(this.stream, { seq: applied });
    if (last === null || slowest === null) return;
    const lackingAfter = applied < state.last_seq ? slowest.time : new Date(now ?? slowest.time);
    if (lackingAfter.getTime() - last.time.getTime() < this.partsMs) return;
    const { purged } = await manager.streams.purge(this.stream, { seq: end });
    if (purged > 0) this.logger.info({ stream: this.stream, purged }, 'the stream is trimmed');
  }

  /** Up to which message enough replicas have the stream in their logs; undefined where too few answer. */
  async #applied(isPressing: boolean): Promise<number | undefined> {
    const own = this.engine.position;
    const positions = [own, ...(await this.others.allPositions(this.replicas))];
    const sequences = positions.map(({ sequence }) => sequence).toSorted((a, b) => b - a);
    return sequences[(isPressing ? majorityOf(this.replicas) : this.replicas) - 1];
  }
}
