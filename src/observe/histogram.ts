/** How often a value fell between which bounds. */
export interface Distribution {
  /** The greatest value of each bucket but the last, which has no bound. */
  readonly bounds: readonly number[];
  /** The number of values in each bucket. */
  readonly counts: ArrayLike<number>;
  readonly sum: number;
}

/** Counts values into buckets with fixed bounds: a few comparisons and two additions each. */
export class Histogram implements Distribution {
  readonly counts: Float64Array;
  #sum = 0;

  constructor(readonly bounds: readonly number[]) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  get sum(): number {
    return this.#sum;
  }

  add(value: number): void {
    const { bounds, counts } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket += 1;
    counts[bucket] = (counts[bucket] as number) + 1;
    this.#sum += value;
  }
}
