import type { Client, Filter, Metadata, Order } from '../../client/browser.js';
import { inChunks } from '../model/in-chunks.js';
import { principalAxes, project, type Projection } from '../model/pca.js';
import type { Position } from '../model/positions.js';

/** More points than these are a cloud in which nobody finds anything. */
const MOST_POINTS = 2_000;

/** 32 MiB: long vectors are sampled less. */
const MOST_NUMBERS = 8 * 1024 * 1024;

const PAGE_POINTS = 250;

export interface SampledPoint {
  readonly id: string;
  readonly vector: Float32Array;
  readonly metadata: Metadata | null;
}

/** Which points are sampled: a scroll begins at either end, and cannot draw at random. */
export interface Selection {
  readonly order: Order;
  readonly filter: Filter | undefined;
}

/** Some points, and where they lie in a picture. */
export interface Sample extends Selection {
  readonly points: readonly SampledPoint[];
  /** How many points there are of which these are the first. */
  readonly total: number;
  readonly positions: readonly Position[];
  readonly projection: Projection;
}

export function mostPoints(dimension: number): number {
  return Math.max(2, Math.min(MOST_POINTS, Math.floor(MOST_NUMBERS / dimension)));
}

/** Reads points, and finds the plane in which they differ most. */
export async function takeSample(
  client: Client,
  most: number,
  selection: Selection,
  signal: AbortSignal,
): Promise<Sample> {
  const points: SampledPoint[] = [];
  let after: string | null | undefined;
  while (points.length < most && after !== null) {
    const limit = Math.min(PAGE_POINTS, most - points.length);
    const include = ['vector', 'metadata'] as const;
    // oxlint-disable-next-line no-await-in-loop -- a page begins where the one before ended
    const page = await client.scrollPage({ ...selection, limit, after, include, signal });
    for (const { id, vector = new Float32Array(), metadata = null } of page.points) {
      points.push({ id, vector, metadata });
    }
    after = page.next;
  }
  const { filter } = selection;
  const count = after === null ? 0 : await client.count({ filter, signal });
  // Some may have been deleted meanwhile.
  const total = Math.max(points.length, count);
  const projection = await inChunks(principalAxes(points.map(({ vector }) => vector)), signal);
  const positions = points.map(({ vector }) => project(projection, vector));
  return { ...selection, points, total, positions, projection };
}
