/** What each service has cost, round by round. */
export class Table {
  #costs = new Map();

  /** @param bases the names of those that all are compared with, by the titles of the columns */
  constructor(bases) {
    this.bases = bases;
  }

  add(what, { name }, cost) {
    const costs = this.#costs.get(what) ?? new Map();
    this.#costs.set(what, costs.set(name, [...(costs.get(name) ?? []), cost]));
  }

  /** Medians of the rounds; ratios are taken within a round. */
  rows() {
    return [...this.#costs].flatMap(([what, costs]) =>
      [...costs].map(([of, all]) => this.#row(what, of, all, costs)),
    );
  }

  #row(what, of, all, costs) {
    const ratios = Object.entries(this.bases).map(([title, base]) => [
      title,
      ratio(all, costs.get(base)),
    ]);
    return {
      what,
      of,
      'CPU in us': Math.round(median(all.map(({ cpuUs }) => cpuUs))),
      'of it NATS': Math.round(median(all.map(({ natsUs }) => natsUs))),
      ...Object.fromEntries(ratios),
      'per second': Math.round(median(all.map(({ perSecond }) => perSecond))),
    };
  }
}

function ratio(all, others) {
  return spread(all.map(({ cpuUs }, round) => cpuUs / others[round].cpuUs));
}

/** The median, with the least and the most. */
export function spread(ratios) {
  const [middle, least, most] = [median(ratios), Math.min(...ratios), Math.max(...ratios)];
  return `${middle.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`;
}

export function median(numbers) {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)];
}
