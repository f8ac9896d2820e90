/** The text format of Prometheus, read strictly: whatever is not as documented is thrown. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export type Labels = Readonly<Record<string, string>>;

const HEAD = /^# HELP (?<help>[a-zA-Z_:][a-zA-Z0-9_:]*) (?<text>\S.*)$/;
const TYPE = /^# TYPE (?<name>\S+) (?<type>counter|gauge|histogram)$/;
const SAMPLE = /^(?<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?<labels>.*)\})? (?<value>\S+)$/;
const LABEL = /^(?<name>[a-zA-Z_][a-zA-Z0-9_]*)="(?<value>(?:[^"\\\n]|\\[\\n"])*)"(?:,|$)/;
const NUMBER = /^[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)$/;

/** What one scrape told. */
export class Scrape {
  readonly samples: readonly Sample[];
  readonly #types = new Map<string, string>();

  constructor(text: string) {
    if (!text.endsWith('\n')) throw new Error('the last line has no end');
    const samples: Sample[] = [];
    const lines = text.slice(0, -1).split('\n');
    let family = '';
    for (let at = 0; at < lines.length; at += 1) {
      const line = lines[at] ?? '';
      const help = HEAD.exec(line)?.groups;
      if (help === undefined) {
        const sample = readSample(line);
        if (this.#familyOf(sample.name) !== family) throw new Error(`${line} is not of ${family}`);
        samples.push(sample);
        continue;
      }
      family = help['help'] ?? '';
      const type = TYPE.exec(lines[(at += 1)] ?? '')?.groups;
      if (type?.['name'] !== family) throw new Error(`no type of ${family}`);
      if (this.#types.has(family)) throw new Error(`${family} comes twice`);
      this.#types.set(family, type['type'] ?? '');
    }
    this.samples = samples;
    this.#checkNames();
    this.#checkHistograms();
  }

  /** The names of all metrics, whether they have samples or not. */
  get families(): string[] {
    return [...this.#types.keys()];
  }

  /** Whether samples can have this name. */
  has(name: string): boolean {
    const family = this.#familyOf(name);
    return this.#types.has(family) && (family !== name || this.#types.get(name) !== 'histogram');
  }

  /** The one value with these labels. */
  value(name: string, labels: Labels = {}): number {
    const value = this.all(name).get(keyOf(labels));
    if (value === undefined) throw new Error(`no ${name}${keyOf(labels)}`);
    return value;
  }

  /** All values of a name, by their labels. */
  all(name: string): Map<string, number> {
    const found = this.samples.filter((sample) => sample.name === name);
    return new Map(found.map(({ labels, value }) => [keyOf(labels), value]));
  }

  /** What has been added to the values of a name since an earlier scrape. */
  since(before: Scrape, name: string): Record<string, number> {
    const was = before.all(name);
    const changes = Array.from(
      this.all(name),
      ([key, value]) => [key, value - (was.get(key) ?? 0)] as const,
    );
    return Object.fromEntries(changes.filter(([, change]) => change !== 0));
  }

  #familyOf(name: string): string {
    const base = name.replace(/_(?:bucket|sum|count)$/, '');
    return this.#types.get(base) === 'histogram' ? base : name;
  }

  #checkNames(): void {
    const seen = new Set<string>();
    for (const { name, labels } of this.samples) {
      const key = name + keyOf(labels);
      if (seen.has(key)) throw new Error(`${key} comes twice`);
      seen.add(key);
    }
    for (const [name, type] of this.#types) {
      if ((type === 'counter') !== name.endsWith('_total')) throw new Error(`${name}: ${type}`);
    }
    for (const { name, value } of this.samples) {
      if (value < 0) throw new Error(`${name} is ${value}`);
    }
  }

  #checkHistograms(): void {
    for (const [family, type] of this.#types) {
      if (type !== 'histogram') continue;
      const series = new Map<string, { le: number; value: number }[]>();
      for (const { name, labels, value } of this.samples) {
        if (name !== `${family}_bucket`) continue;
        const { le = '', ...rest } = labels;
        const buckets = series.get(keyOf(rest)) ?? [];
        buckets.push({ le: le === '+Inf' ? Infinity : Number(le), value });
        series.set(keyOf(rest), buckets);
      }
      const counts = this.all(`${family}_count`);
      const sums = this.all(`${family}_sum`);
      if (counts.size !== series.size || sums.size !== series.size) throw new Error(family);
      for (const [key, buckets] of series) {
        checkBuckets(`${family}${key}`, buckets, counts.get(key) ?? Number.NaN);
      }
    }
  }
}

/** Bounds and counts grow, and the last bucket, which has no bound, holds everything. */
function checkBuckets(
  what: string,
  buckets: readonly { readonly le: number; readonly value: number }[],
  count: number,
): void {
  const last = buckets.at(-1);
  if (last?.le !== Infinity || last.value !== count) throw new Error(`${what}: no last bucket`);
  for (const [index, { le, value }] of buckets.entries()) {
    const before = buckets[index - 1];
    if (before === undefined) continue;
    if (!(le > before.le) || value < before.value) throw new Error(`${what}: bucket ${le}`);
  }
}

function readSample(line: string): Sample {
  const { name, labels = '', value = '' } = SAMPLE.exec(line)?.groups ?? {};
  if (name === undefined || !NUMBER.test(value)) throw new Error(`no sample: ${line}`);
  return { name, labels: readLabels(labels), value: Number(value) };
}

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let rest = text;
  while (rest !== '') {
    const found = LABEL.exec(rest);
    const { name = '', value = '' } = found?.groups ?? {};
    if (found === null || name in labels) throw new Error(`no labels: ${text}`);
    labels[name] = value.replaceAll(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped));
    rest = rest.slice(found[0].length);
  }
  return labels;
}

/** Labels as text, in the order of their names. */
function keyOf(labels: Labels): string {
  const pairs = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${pairs.map(([name, value]) => `${name}=${value}`).join(',')}}`;
}
