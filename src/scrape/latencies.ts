import type { Labels, Scrape } from './scrape.js';

/** How many of the values that a histogram counted are at most `le`. */
export interface Bucket {
  readonly le: number;
  readonly count: number;
}

/** The values that a histogram counted between two scrapes. */
export class Latencies {
  readonly #buckets: readonly Bucket[];

  constructor(buckets: Iterable<Bucket>) {
    this.#buckets = [...buckets].toSorted((a, b) => a.le - b.le);
  }

  get count(): number {
    return this.#buckets.at(-1)?.count ?? 0;
  }

  /**
   * The value that a share of all is at most: within its bucket values are taken to lie evenly, as
   * Prometheus does. What is beyond the last bound counts as the bound. Undefined without values.
   */
  quantile(share: number): number | undefined {
    if (this.count === 0) return undefined;
    const rank = share * this.count;
    let below: Bucket = { le: 0, count: 0 };
    for (const bucket of this.#buckets) {
      if (bucket.count >= rank && bucket.count > below.count) {
        if (bucket.le === Number.POSITIVE_INFINITY) return below.le;
        const part = (rank - below.count) / (bucket.count - below.count);
        return below.le + (bucket.le - below.le) * part;
      }
      below = bucket;
    }
    return below.le;
  }
}

/** What a histogram counted since `before`, for each of its sets of labels by `keyOf`. */
export function latenciesSince(
  before: Scrape | undefined,
  now: Scrape,
  name: string,
  keyOf: (labels: Labels) => string,
): Map<string, Latencies> {
  const earlier = new Map(
    (before?.all(`${name}_bucket`) ?? []).map(({ labels, value }) => [
      `${keyOf(labels)} ${labels['le']}`,
      value,
    ]),
  );
  const buckets = new Map<string, Bucket[]>();
  for (const { labels, value } of now.all(`${name}_bucket`)) {
    const key = keyOf(labels);
    const le = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']);
    const count = value - (earlier.get(`${key} ${labels['le']}`) ?? 0);
    const found = buckets.get(key) ?? [];
    found.push({ le, count });
    buckets.set(key, found);
  }
  return new Map(Array.from(buckets, ([key, found]) => [key, new Latencies(found)]));
}
