/** A count that all loops share: those with the same memory have the same count. */
export class SharedCount {
  readonly #count: BigInt64Array;

  constructor(readonly memory = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)) {
    this.#count = new BigInt64Array(memory);
  }

  get value(): number {
    return Number(Atomics.load(this.#count, 0));
  }

  /** Adds to it; answers what it is then. */
  add(change: number): number {
    return Number(Atomics.add(this.#count, 0, BigInt(change))) + change;
  }
}
