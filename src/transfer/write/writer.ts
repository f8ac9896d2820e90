import type { FullPoint } from './point-columns.js';

/** Writes points in one format. */
export interface PointWriter {
  /** What lies beside the file of vectors, in a format that holds nothing else. */
  readonly hasTexts: boolean;
  /** The bytes of the file. */
  encode(points: AsyncIterable<FullPoint>): AsyncIterable<Uint8Array>;
  /** The bytes of the beginning once the number of points is known. */
  headerFor?(points: number): Uint8Array;
}
