/** A value of a metric, and the labels that tell it from the others of that metric. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Samples by the name of their metric. */
export type Metrics = ReadonlyMap<string, readonly Sample[]>;

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? +(\S+)/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

/** Reads the text format of Prometheus; comments, and lines that are no samples, are passed over. */
export function parseMetrics(text: string): Metrics {
  const metrics = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    const [, name, labels = '', number = ''] = LINE.exec(line) ?? [];
    if (name === undefined) continue;
    const samples = metrics.get(name) ?? [];
    metrics.set(name, samples);
    samples.push({ labels: parseLabels(labels), value: parseValue(number) });
  }
  return metrics;
}

/** The value of a metric that has only one; undefined if it is not there. */
export function valueOf(metrics: Metrics, name: string): number | undefined {
  return metrics.get(name)?.[0]?.value;
}

function parseLabels(text: string): Record<string, string> {
  const found = text.matchAll(LABEL);
  return Object.fromEntries(Array.from(found, ([, name, value = '']) => [name, unescape(value)]));
}

function unescape(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}

function parseValue(text: string): number {
  const infinity = /^([+-]?)Inf$/i.exec(text);
  if (infinity !== null) return infinity[1] === '-' ? -Infinity : Infinity;
  return Number(text);
}
