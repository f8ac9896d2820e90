/** What each service has cost, round by round. */
export class Table {
  #costs = new Map();

  add(what, { name }, cost) {
    const costs = this.#costs.get(what) ?? new Map();
    this.#costs.set(what, costs.set(name, [...(costs.get(name) ?? []), cost]));
  }

  /** Medians of the rounds; ratios are taken within a round. */
  rows() {
    return [...this.#costs].flatMap(([what, costs]) =>
      [...costs].map(([of, all]) => ({
        what,
        of,
        'CPU in us': Math.round(median(all.map(({ cpuUs }) => cpuUs))),
        'of it NATS': Math.round(median(all.map(({ natsUs }) => natsUs))),
        'over one': ratio(all, costs.get('one server')),
        'over three': ratio(all, costs.get('three servers')),
        'per second': Math.round(median(all.map(({ perSecond }) => perSecond))),
      })),
    );
  }
}

/** The median, with the least and the most. */
function ratio(all, others) {
  const ratios = all.map(({ cpuUs }, round) => cpuUs / others[round].cpuUs);
  const [middle, least, most] = [median(ratios), Math.min(...ratios), Math.max(...ratios)];
  return `${middle.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`;
}

function median(numbers) {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)];
}
