/** Two directions in the space of some vectors along which these differ most. */
export interface Projection {
  readonly mean: Float64Array;
  readonly axes: readonly [Float64Array, Float64Array];
  /** The share of the variance of the vectors that the two axes show, from 0 to 1. */
  readonly share: number;
}

/** More rounds than vectors of any shape need; most need ten. */
const MOST_ROUNDS = 60;

/** A round that shows less than this share more ends the search: nobody sees it in a picture. */
const LEAST_GAIN = 1e-4;

/**
 * The two principal axes of vectors of one length, by power iteration of both at a time. It pauses
 * (`yield`) after each vector, so that a page can do other things in between.
 */
export function* principalAxes(rows: readonly Float32Array[]): Generator<void, Projection> {
  const size = rows[0]?.length ?? 0;
  const mean = yield* meanOf(rows, size);
  const total = yield* varianceOf(rows, mean);
  let axes = orthonormal(startAxis(size, 1), startAxis(size, 2));
  let shown = 0;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const { next, spread } = yield* multiplied(rows, mean, axes);
    const gained = spread.aa + spread.bb - shown;
    shown += gained;
    if (gained <= LEAST_GAIN * total || round === MOST_ROUNDS - 1) {
      axes = rotated(axes, spread);
      break;
    }
    axes = orthonormal(...next);
  }
  return { mean, axes, share: total === 0 ? 1 : Math.min(1, shown / total) };
}

/** Where a vector lies on the two axes. */
export function project({ mean, axes }: Projection, vector: Float32Array): [number, number] {
  return [dotFrom(mean, vector, axes[0]), dotFrom(mean, vector, axes[1])];
}

type Axes = readonly [Float64Array, Float64Array];

function* meanOf(rows: readonly Float32Array[], size: number): Generator<void, Float64Array> {
  const mean = new Float64Array(size);
  for (const row of rows) {
    for (let at = 0; at < size; at += 1) mean[at] = at0(mean, at) + at0(row, at) / rows.length;
    yield;
  }
  return mean;
}

function* varianceOf(rows: readonly Float32Array[], mean: Float64Array): Generator<void, number> {
  let sum = 0;
  for (const row of rows) {
    for (let at = 0; at < mean.length; at += 1) sum += (at0(row, at) - at0(mean, at)) ** 2;
    yield;
  }
  return sum;
}

/** The sums of squares and of products of what all vectors have on two axes. */
interface Spread {
  readonly aa: number;
  readonly ab: number;
  readonly bb: number;
}

/** Both axes, multiplied by the covariance of the vectors, and how far these spread along them. */
function* multiplied(
  rows: readonly Float32Array[],
  mean: Float64Array,
  [first, second]: Axes,
): Generator<void, { next: Axes; spread: Spread }> {
  const size = mean.length;
  const next = [new Float64Array(size), new Float64Array(size)] as const;
  let [aa, ab, bb] = [0, 0, 0];
  for (const row of rows) {
    const a = dotFrom(mean, row, first);
    const b = dotFrom(mean, row, second);
    for (let at = 0; at < size; at += 1) {
      const value = at0(row, at) - at0(mean, at);
      next[0][at] = at0(next[0], at) + a * value;
      next[1][at] = at0(next[1], at) + b * value;
    }
    aa += a * a;
    ab += a * b;
    bb += b * b;
    yield;
  }
  return { next, spread: { aa, ab, bb } };
}

/** The same plane, turned so that the vectors spread most along the first axis. */
function rotated([first, second]: Axes, { aa, ab, bb }: Spread): Axes {
  const angle = Math.atan2(2 * ab, aa - bb) / 2;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return [
    first.map((value, at) => cos * value + sin * at0(second, at)),
    second.map((value, at) => cos * value - sin * at0(first, at)),
  ];
}

/** What is left of a vector is no direction if it is this small: it comes of rounding. */
const ROUNDING = 1e-9;

/** Both at length 1, the second one at a right angle to the first; 0 where nothing is left of it. */
function orthonormal(first: Float64Array, second: Float64Array): Axes {
  const a = normalized(first, 0);
  // Once more, as the first time leaves some of it where both are nearly the same.
  const rest = without(without(second, a), a);
  return [a, normalized(rest, ROUNDING * lengthOf(second))];
}

function without(vector: Float64Array, axis: Float64Array): Float64Array {
  const along = dot(axis, vector);
  return vector.map((value, at) => value - along * at0(axis, at));
}

function normalized(axis: Float64Array, least: number): Float64Array {
  const length = lengthOf(axis);
  return length <= least ? new Float64Array(axis.length) : axis.map((value) => value / length);
}

function lengthOf(vector: Float64Array): number {
  return Math.sqrt(dot(vector, vector));
}

/** A direction that no data are likely to be at a right angle to, the same each time. */
function startAxis(size: number, seed: number): Float64Array {
  return Float64Array.from({ length: size }, (_, at) => Math.sin((at + 1) * (seed * 12.9898)));
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += at0(a, at) * at0(b, at);
  return sum;
}

/** The product of an axis and of what a vector is away from the mean. */
function dotFrom(mean: Float64Array, vector: Float32Array, axis: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < mean.length; at += 1) {
    sum += (at0(vector, at) - at0(mean, at)) * at0(axis, at);
  }
  return sum;
}

/** An element that is there: the lengths are equal. */
function at0(array: Float64Array | Float32Array, at: number): number {
  return array[at] as number;
}
