import type { EncodedPoint } from '../transport.js';

/** What a point takes in a request beside its own bytes, at most. */
const POINT_OVERHEAD_BYTES = 8;

export interface BatchLimits {
  /** What a request takes at most, unless one point takes more. */
  readonly maxBytes: number;
  readonly maxPoints: number;
}

/** Points of one request, no two of which have the same id. */
export class Batch {
  readonly points: EncodedPoint[] = [];
  /** What the points take, each by itself. */
  bytes = 0;
  settle: () => void = () => {};
  /** Resolves once `settle` was called: the batch has been stored or given up. */
  readonly settled = new Promise<void>((resolve) => {
    this.settle = resolve;
  });
  readonly #ids = new Set<string>();

  /** `start` is the number of points in the batches before it. */
  constructor(readonly start: number) {}

  add(point: EncodedPoint): void {
    this.points.push(point);
    this.#ids.add(point.id);
    this.bytes += point.bytes.length;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Whether it takes another point. */
  hasRoomFor(point: EncodedPoint, { maxBytes, maxPoints }: BatchLimits): boolean {
    const { length } = this.points;
    const bytes = this.bytes + point.bytes.length + (length + 1) * POINT_OVERHEAD_BYTES;
    return length === 0 || (length < maxPoints && bytes <= maxBytes);
  }
}
