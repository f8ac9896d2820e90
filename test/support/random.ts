/** Numbers that look random and are the same in every run: a failure comes back. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, not including, 1: mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from 0 up to, not including, `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('there is nothing to pick from');
    return item;
  }

  /** A vector whose values are normally distributed and exact in single precision. */
  vector(dimension: number): number[] {
    return Array.from({ length: dimension }, () => {
      const radius = Math.sqrt(-2 * Math.log(1 - this.next()));
      return Math.fround(radius * Math.cos(2 * Math.PI * this.next()));
    });
  }

  /** A vector of whole numbers from `least` to `greatest`: distances tie, and every sum is exact. */
  wholeVector(dimension: number, least: number, greatest: number): number[] {
    return Array.from({ length: dimension }, () => least + this.below(greatest - least + 1));
  }
}
