import type { StreamPosition } from '../../engine/native.js';

/** The checksums of so many of the last positions are remembered. */
const REMEMBERED = 65_536;
const HEADER_BYTES = 16;

/**
 * Positions in the stream of a shard, of which the last are remembered, in memory that all event loops
 * of a node have.
 */
export class Positions {
  readonly #bounds: BigInt64Array;
  readonly #chains: Uint32Array;

  constructor(readonly memory = new SharedArrayBuffer(HEADER_BYTES + 4 * REMEMBERED)) {
    this.#bounds = new BigInt64Array(memory, 0, 2);
    this.#chains = new Uint32Array(memory, HEADER_BYTES, REMEMBERED);
  }

  /** Begins at a position: of what was before nothing is known. */
  begin(position: StreamPosition): void {
    Atomics.store(this.#bounds, 0, BigInt(position.sequence));
    this.note(position);
  }

  /** Notes a position, which may be smaller than the last one. */
  note({ sequence, chain }: StreamPosition): void {
    Atomics.store(this.#chains, sequence % REMEMBERED, chain);
    const raised = BigInt(sequence);
    let known = Atomics.load(this.#bounds, 1);
    while (known < raised) {
      const found = Atomics.compareExchange(this.#bounds, 1, known, raised);
      if (found === known) return;
      known = found;
    }
  }

  get last(): StreamPosition {
    const sequence = Number(Atomics.load(this.#bounds, 1));
    return { sequence, chain: this.#chainAt(sequence) };
  }

  /** The position with this sequence; undefined where it is not remembered, or not reached. */
  at(sequence: number): StreamPosition | undefined {
    const chain = this.#chainAt(sequence);
    const first = Number(Atomics.load(this.#bounds, 0));
    const last = Number(Atomics.load(this.#bounds, 1));
    const isKnown = sequence >= first && sequence <= last && sequence > last + 1 - REMEMBERED;
    return isKnown ? { sequence, chain } : undefined;
  }

  #chainAt(sequence: number): number {
    return Atomics.load(this.#chains, sequence % REMEMBERED);
  }
}
