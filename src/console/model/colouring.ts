import type { Metadata, MetadataValue } from '../../client/browser.js';

/** A group of points that share a colour. */
export interface Group {
  readonly label: string;
  readonly count: number;
}

export interface Colouring {
  readonly groups: readonly Group[];
  /** The number of the group of each point. */
  readonly groupOf: readonly number[];
}

/** Colours that can be told apart: the last one is for all other values. */
export const MOST_GROUPS = 8;

/** Into how many ranges numbers are cut. */
const RANGES = 5;

const REST = 'other';

type Fields = Metadata | null | undefined;

/** The fields by which points can be coloured: those that some, but not all alike, have. */
export function fieldsOf(points: readonly Fields[]): string[] {
  const fields = new Set(points.flatMap((metadata) => Object.keys(metadata ?? {})));
  const isTelling = (field: string): boolean => {
    const texts = new Set(points.map((metadata) => textOf(metadata?.[field])));
    return texts.size > 1 && texts.size < Math.max(3, points.length * 0.9);
  };
  return [...fields].filter((field) => isNumeric(points, field) || isTelling(field)).toSorted();
}

/** Groups points by a field: numbers by ranges with as many points each, others by their values. */
export function colouringBy(points: readonly Fields[], field: string): Colouring {
  const values = points.map((metadata) => metadata?.[field]);
  const isRanged = new Set(values).size > MOST_GROUPS && isNumeric(points, field);
  const { names, nameOf } = isRanged ? rangesOf(values) : { names: [], nameOf: textOf };
  const labels = values.map(nameOf);
  const counts = new Map(names.map((name) => [name, 0]));
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  const found = [...counts].map(([label, count]) => ({ label, count }));
  const groups = found.filter(({ count }) => count > 0);
  // Ranges are in their order.
  if (!isRanged) groups.sort((a, b) => b.count - a.count);
  return grouped(labels, groups);
}

/** The most frequent groups, and one of all the others if there are too many. */
function grouped(labels: readonly string[], groups: readonly Group[]): Colouring {
  const kept = groups.length > MOST_GROUPS ? groups.slice(0, MOST_GROUPS - 1) : groups;
  const rest = groups.slice(kept.length).reduce((sum, { count }) => sum + count, 0);
  const numbers = new Map(kept.map(({ label }, at) => [label, at]));
  return {
    groups: rest > 0 ? [...kept, { label: REST, count: rest }] : kept,
    groupOf: labels.map((label) => numbers.get(label) ?? kept.length),
  };
}

type Value = MetadataValue | undefined;

/** Ranges that hold about as many of the numbers each, the lowest first, and which one a value is in. */
function rangesOf(values: readonly Value[]) {
  const sorted = values.filter((value) => typeof value === 'number').toSorted((a, b) => a - b);
  const cuts = Array.from({ length: RANGES - 1 }, (_, at) =>
    Number(sorted[Math.floor(((at + 1) * sorted.length) / RANGES)]),
  );
  const bounds = [...new Set(cuts)];
  const names = [
    `below ${bounds[0]}`,
    ...bounds.slice(1).map((bound, at) => `${bounds[at]} to ${bound}`),
    `${bounds.at(-1)} and more`,
  ];
  const nameOf = (value: Value): string => {
    if (typeof value !== 'number') return textOf(value);
    const above = bounds.findIndex((bound) => value < bound);
    return names.at(above) ?? '';
  };
  return { names, nameOf };
}

function isNumeric(points: readonly Fields[], field: string): boolean {
  const values = points.map((metadata) => metadata?.[field]).filter((value) => value != null);
  return new Set(values).size > 1 && values.every((value) => typeof value === 'number');
}

function textOf(value: Value): string {
  if (value === undefined || value === null) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
