const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** What one answer of `/metrics` tells, in the text format of Prometheus. */
export class Scrape {
  readonly #samples = new Map<string, Sample[]>();

  constructor(text: string) {
    for (const line of text.split('\n')) {
      const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
      if (name === undefined) continue;
      const samples = this.#samples.get(name) ?? [];
      samples.push({ labels: readLabels(labels), value: Number(value) });
      this.#samples.set(name, samples);
    }
  }

  /** All values of a name; none if it is not there. */
  all(name: string): readonly Sample[] {
    return this.#samples.get(name) ?? [];
  }

  /** The first value that has these labels, and perhaps others; 0 if there is none. */
  value(name: string, labels: Labels = {}): number {
    const wanted = Object.entries(labels);
    const found = this.all(name).find((sample) =>
      wanted.every(([label, text]) => sample.labels[label] === text),
    );
    return found?.value ?? 0;
  }
}

function readLabels(text: string): Labels {
  const pairs = Array.from(text.matchAll(LABEL), ([, name = '', value = '']) => [
    name,
    value.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped)),
  ]);
  return Object.fromEntries(pairs);
}
