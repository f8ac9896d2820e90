import type { Distribution } from './histogram.js';

/** What a client that scrapes metrics calls this format. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export type Labels = Readonly<Record<string, string>>;

/** A value, or several told apart by their labels. */
export type Samples = number | Iterable<readonly [labels: Labels, value: number]>;

/** Writes metrics in the text format of Prometheus, version 0.0.4. */
export class Exposition {
  #text = '';

  get text(): string {
    return this.#text;
  }

  /** What only grows. */
  counter(name: string, help: string, samples: Samples): void {
    this.#simple('counter', name, help, samples);
  }

  /** What goes up and down. */
  gauge(name: string, help: string, samples: Samples): void {
    this.#simple('gauge', name, help, samples);
  }

  /** Values by size; what was counted is divided by `perUnit` to be in the unit of the name. */
  histogram(
    name: string,
    help: string,
    samples: Iterable<readonly [labels: Labels, distribution: Distribution]>,
    perUnit = 1,
  ): void {
    this.#head('histogram', name, help);
    for (const [labels, { bounds, counts, sum }] of samples) {
      let count = 0;
      for (let bucket = 0; bucket < counts.length; bucket += 1) {
        count += counts[bucket] ?? 0;
        const bound = bounds[bucket];
        const le = bound === undefined ? '+Inf' : String(bound / perUnit);
        this.#sample(`${name}_bucket`, { ...labels, le }, count);
      }
      this.#sample(`${name}_sum`, labels, sum / perUnit);
      this.#sample(`${name}_count`, labels, count);
    }
  }

  #simple(type: 'counter' | 'gauge', name: string, help: string, samples: Samples): void {
    this.#head(type, name, help);
    if (typeof samples === 'number') this.#sample(name, {}, samples);
    else for (const [labels, value] of samples) this.#sample(name, labels, value);
  }

  #head(type: string, name: string, help: string): void {
    this.#text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
  }

  #sample(name: string, labels: Labels, value: number): void {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escape(text)}"`);
    const braced = pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
    this.#text += `${name}${braced} ${value}\n`;
  }
}

function escape(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}
