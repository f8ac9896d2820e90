/** How many values were at most how great: a bound, and a count that includes all lower buckets. */
export interface Bucket {
  readonly bound: number;
  readonly count: number;
}

/** What has been added to a histogram since it was `before`. */
export function addedTo(before: readonly Bucket[], now: readonly Bucket[]): Bucket[] {
  return now.map(({ bound, count }, at) => ({ bound, count: count - (before[at]?.count ?? 0) }));
}

/**
 * The value that the share `q` of all values does not exceed, as if those of a bucket lay evenly
 * between its bounds; undefined without any value. Beyond the last bound it is that bound.
 */
export function quantile(q: number, buckets: readonly Bucket[]): number | undefined {
  const total = buckets.at(-1)?.count ?? 0;
  if (total <= 0) return undefined;
  const rank = q * total;
  const at = buckets.findIndex(({ count }) => count >= rank);
  const { bound, count } = buckets[at] ?? { bound: Infinity, count: total };
  const { bound: lower, count: below } = buckets[at - 1] ?? { bound: 0, count: 0 };
  if (bound === Infinity) return lower;
  return lower + (bound - lower) * ((rank - below) / (count - below));
}
