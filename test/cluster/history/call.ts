import type { CallOptions, Client, Point } from '../../../src/client/node.js';
import { KEYS, type Key } from './groups.js';
import type { Answer, Kind } from './operation.js';

/** What a point reads as whose parts are of two writes: no write has this version. */
const TORN = -1;

/** More than the workload ever stores: a search of this breadth misses nothing. */
const BREADTH = 100_000;

/** Carries an operation out and answers what the history is to hold of the answer. */
export async function call(
  client: Client,
  kind: Kind,
  keys: readonly Key[],
  version: number,
  options?: CallOptions,
): Promise<Answer> {
  const ids = keys.map(({ id }) => id);
  if (kind === 'get' || kind === 'search') {
    const read = kind === 'get' ? get : search;
    const points = await read(client, keys, options);
    const found = new Map(points.map((point) => [point.id, versionOf(point)]));
    return { versions: ids.map((id) => found.get(id) ?? 0) };
  }
  if (kind === 'delete') {
    const { missing } = await client.delete(ids, options);
    return { deleted: ids.map((id) => !missing.includes(id)) };
  }
  const parts = { content: String(version), metadata: { version } };
  const points = keys.map((key) => ({ ...key, ...parts }));
  const ifAbsent = kind === 'insert';
  const { stored, replaced, kept } = await client.upsert(points, { ...options, ifAbsent });
  return { stored, replaced, kept };
}

async function get(
  client: Client,
  keys: readonly Key[],
  options?: CallOptions,
): Promise<readonly Point[]> {
  const ids = keys.map(({ id }) => id);
  return (await client.get(ids, options)).points;
}

/** Finds the points of keys at one moment: those of their group are the nearest, if they are there. */
async function search(
  client: Client,
  [key, ...others]: readonly Key[],
  options?: CallOptions,
): Promise<readonly Point[]> {
  const how = others.length === 0 ? { limit: 1, exact: true } : { limit: KEYS, ef: BREADTH };
  const include = ['content', 'metadata'] as const;
  const vector = key?.vector ?? [];
  return await client.search({ vector, similarity: 'Euclidean', include, ...how }, options);
}

function versionOf({ content, metadata }: Point): number {
  const version = Number(content);
  return metadata?.['version'] === version ? version : TORN;
}
