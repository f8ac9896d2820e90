import type { StreamPosition } from '../../engine/native.js';
import type { Positions } from '../voting/positions.js';
import type { ReadMode } from './reads.js';

/** What the reads of an event loop have to see of a shard of which the node has no replica. */
export class Session {
  /** After a start the node does not know what it has acknowledged before: a strong read tells. */
  #isKnown = false;

  /** @param acknowledged what all event loops of the node have acknowledged */
  constructor(
    private readonly mode: ReadMode,
    private readonly acknowledged: Positions,
  ) {}

  /** The position that a read has to see; undefined where it has to be a strong one. */
  get after(): StreamPosition | undefined {
    return this.mode === 'session' && this.#isKnown ? this.acknowledged.last : undefined;
  }

  /** A read has seen all up to a position, which a majority holds. */
  note(position: StreamPosition): void {
    this.acknowledged.note(position);
    this.#isKnown = true;
  }
}
