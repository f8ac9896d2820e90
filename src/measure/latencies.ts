/** How long calls took. */
export class Latencies {
  readonly #ms: number[] = [];

  add(ms: number): void {
    this.#ms.push(ms);
  }

  get count(): number {
    return this.#ms.length;
  }

  /** What so many of a hundred calls did not exceed; 0 without any. */
  percentiles(...percents: readonly number[]): readonly number[] {
    const sorted = Float64Array.from(this.#ms).toSorted();
    return percents.map((percent) => {
      const rank = Math.ceil((percent / 100) * sorted.length);
      return sorted[Math.max(0, rank - 1)] ?? 0;
    });
  }
}
