import {
  TooLargeError,
  type Client,
  type Filter,
  type Metadata,
  type Order,
  type Part,
  type Point,
  type ScrollPageOptions,
} from '../../client/browser.js';
import { inChunks } from '../model/in-chunks.js';
import { principalAxes, project, type Projection } from '../model/pca.js';
import type { Position } from '../model/positions.js';
import { drawFrom } from '../model/reservoir.js';

/** More points than these are a cloud in which nobody finds anything. */
const MOST_POINTS = 2_000;

/** 32 MiB: long vectors are sampled less. */
const MOST_NUMBERS = 8 * 1024 * 1024;

/** Points whose ids are read, of which the sample is drawn: more would take long to list. */
export const MOST_LISTED = 100_000;

const PAGE_IDS = 10_000;

const PAGE_POINTS = 250;

const PARTS: readonly Part[] = ['vector', 'metadata'];

export interface SampledPoint {
  readonly id: string;
  readonly vector: Float32Array;
  readonly metadata: Metadata | null;
}

/** Which points are sampled: of too many those at either end, as the service draws none itself. */
export interface Selection {
  readonly order: Order;
  readonly filter: Filter | undefined;
}

/** Some points, and where they lie in a picture. */
export interface Sample extends Selection {
  readonly points: readonly SampledPoint[];
  /** How many points these were drawn from, the first ones in the order. */
  readonly listed: number;
  /** How many points there are. */
  readonly total: number;
  readonly positions: readonly Position[];
  readonly projection: Projection;
}

export function mostPoints(dimension: number): number {
  return Math.max(2, Math.min(MOST_POINTS, Math.floor(MOST_NUMBERS / dimension)));
}

/** Reads all points, or of more than `most` a random sample, and finds the plane in which they differ most. */
export async function takeSample(
  client: Client,
  most: number,
  selection: Selection,
  signal: AbortSignal,
): Promise<Sample> {
  const count = await client.count({ filter: selection.filter, signal });
  const drawn = count > most ? await draw(client, most, selection, signal) : undefined;
  const parts = { include: PARTS, limit: PAGE_POINTS };
  const found = drawn?.points ?? (await first(client, most, { ...selection, ...parts, signal }));
  const points = found.map(({ id, vector = new Float32Array(), metadata = null }) => ({
    id,
    vector,
    metadata,
  }));
  const listed = drawn?.listed ?? points.length;
  // Some may have been stored or deleted meanwhile.
  const total = listed < MOST_LISTED ? listed : Math.max(listed, count);
  const projection = await inChunks(principalAxes(points.map(({ vector }) => vector)), signal);
  const positions = points.map(({ vector }) => project(projection, vector));
  return { ...selection, points, listed, total, positions, projection };
}

async function draw(client: Client, most: number, selection: Selection, signal: AbortSignal) {
  const parts = { include: [], limit: PAGE_IDS };
  const listed = await first(client, MOST_LISTED, { ...selection, ...parts, signal });
  // A point that was replaced meanwhile may come twice.
  const ids = drawFrom(Array.from(new Set(listed.map(({ id }) => id))), most);
  const points: Point[] = [];
  for (let at = 0; at < ids.length; at += PAGE_POINTS) {
    // oxlint-disable-next-line no-await-in-loop -- all at once would be too much for the service
    points.push(...(await getAll(client, ids.slice(at, at + PAGE_POINTS), signal)));
  }
  return { points, listed: listed.length };
}

/** The first points of a selection, a page at a time. */
async function first(
  client: Client,
  most: number,
  options: ScrollPageOptions,
): Promise<readonly Point[]> {
  const points: Point[] = [];
  let after: string | null | undefined;
  while (points.length < most && after !== null) {
    const limit = Math.min(options.limit, most - points.length);
    // oxlint-disable-next-line no-await-in-loop -- a page begins where the one before ended
    const page = await client.scrollPage({ ...options, limit, after });
    points.push(...page.points);
    after = page.next;
  }
  return points;
}

/** Those of some points that are there, in as many requests as the limits of the service ask for. */
async function getAll(
  client: Client,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<readonly Point[]> {
  try {
    return (await client.get(ids, { include: PARTS, signal })).points;
  } catch (error) {
    if (!(error instanceof TooLargeError) || ids.length === 1) throw error;
    const middle = ids.length / 2;
    const before = await getAll(client, ids.slice(0, middle), signal);
    return [...before, ...(await getAll(client, ids.slice(middle), signal))];
  }
}
