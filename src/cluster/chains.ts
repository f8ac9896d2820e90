import type { StreamPosition } from '../engine/native.js';

/** So many of the last positions are remembered. */
const REMEMBERED = 65_536;

/** The checksums that a replica had at its last positions. */
export class Chains {
  readonly #chains = new Uint32Array(REMEMBERED);
  readonly #first: number;
  #last: number;

  /** @param start where the replica is: of what was before it knows nothing */
  constructor(start: StreamPosition) {
    this.#first = start.sequence;
    this.#last = start.sequence;
    this.#chains[start.sequence % REMEMBERED] = start.chain;
  }

  /** The last position. */
  get last(): number {
    return this.#last;
  }

  /** Notes the position behind the last one. */
  add({ sequence, chain }: StreamPosition): void {
    this.#chains[sequence % REMEMBERED] = chain;
    this.#last = sequence;
  }

  /** The position with this sequence; undefined if it is not remembered. */
  at(sequence: number): StreamPosition | undefined {
    const oldest = Math.max(this.#first, this.#last - REMEMBERED + 1);
    if (sequence < oldest || sequence > this.#last) return undefined;
    return { sequence, chain: this.#chains[sequence % REMEMBERED] ?? 0 };
  }
}
