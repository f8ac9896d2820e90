import type { SimilarityName } from './clients.js';

/**
 * What the specification says of distances, in doubles and without any index: slow, and plain
 * enough to be checked by reading.
 */

type Vector = readonly number[];

const DISTANCES: Readonly<Record<SimilarityName, (a: Vector, b: Vector) => number>> = {
  Euclidean: (a, b) => Math.sqrt(sum(a, b, (x, y) => (x - y) ** 2)),
  Manhattan: (a, b) => sum(a, b, (x, y) => Math.abs(x - y)),
  Hamming: (a, b) => sum(a, b, (x, y) => (x === y ? 0 : 1)),
  Cosine(a, b) {
    const norms = Math.sqrt(sum(a, a, (x) => x * x)) * Math.sqrt(sum(b, b, (x) => x * x));
    return norms === 0 ? 1 : 1 - sum(a, b, (x, y) => x * y) / norms;
  },
};

export function distance(similarity: SimilarityName, a: Vector, b: Vector): number {
  return DISTANCES[similarity](a, b);
}

/** One stored point: where it stands in the order of insertion, and how far it is. */
export interface Ranked {
  readonly index: number;
  readonly distance: number;
}

/** All points from the closest to the farthest, ties by insertion. */
export function rankAll(
  similarity: SimilarityName,
  query: Vector,
  points: readonly Vector[],
): Ranked[] {
  return points
    .map((point, index) => ({ index, distance: distance(similarity, query, point) }))
    .toSorted((a, b) => a.distance - b.distance || a.index - b.index);
}

/** Two distances this close may differ by rounding alone. */
export function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1e-5 * Math.max(Math.abs(a), Math.abs(b)) + 1e-7;
}

/**
 * The share of the true neighbours that were found. By distance, not by id: where several points
 * are equally far, any of them is a true one.
 */
export function recall(found: readonly number[], truth: readonly Ranked[]): number {
  const farthest = truth.at(-1)?.distance ?? 0;
  const right = found.filter((value) => value <= farthest || isNear(value, farthest));
  return right.length / truth.length;
}

function sum(a: Vector, b: Vector, term: (x: number, y: number) => number): number {
  let total = 0;
  for (let index = 0; index < a.length; index += 1) {
    total += term(a[index] ?? Number.NaN, b[index] ?? Number.NaN);
  }
  return total;
}
