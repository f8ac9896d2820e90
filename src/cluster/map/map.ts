import type { KV } from '@nats-io/kv';
import { StartError } from '../../core/start-error.js';

/** What all nodes of a cluster agree on: kept in a bucket of NATS, changed by compare-and-set. */
export interface ClusterMap {
  readonly version: 1;
  readonly dimension: number;
  /** How many replicas each shard has. */
  readonly replicas: number;
  readonly shards: readonly ShardPlace[];
}

export interface ShardPlace {
  /** The ids of the nodes that have a replica. A node with a fresh data folder is another node. */
  readonly nodes: readonly string[];
  /** When the stream of the shard was made, as NATS says. It is never made again. */
  readonly streamCreated?: string | undefined;
}

/** The map as it was read, with what a change of it has to name. */
export interface KnownMap {
  readonly map: ClusterMap;
  readonly revision: number;
}

/** The shard that a node holds a replica of; undefined where it has no place in the map. */
export function shardOfNode({ shards }: ClusterMap, node: string): number | undefined {
  const shard = shards.findIndex(({ nodes }) => nodes.includes(node));
  return shard < 0 ? undefined : shard;
}

const KEY = 'map';

/** The version that a text names as a map; undefined where it is no map. */
function versionIn(text: string): unknown {
  try {
    return (JSON.parse(text) as { version?: unknown } | null)?.version;
  } catch {
    return undefined;
  }
}

/** That there is a map, which the server that answers cannot read. */
export class DamagedMap extends Error {}

/** The bucket with the map. */
export class MapStore {
  constructor(private readonly bucket: KV) {}

  /**
   * The map, if there is one: a server may answer what it was a moment ago. Only `write` decides. Throws
   * a DamagedMap where a damaged file hides it.
   */
  async read(): Promise<KnownMap | undefined> {
    const entry = await this.bucket.get(KEY);
    if (entry === null) {
      const { bucket, values } = await this.bucket.status();
      if (values === 0) return undefined;
      throw new DamagedMap(
        `the map of the cluster (bucket ${bucket}) is there, but a NATS server cannot read it, as where a file ` +
          'is damaged: set CLUSTER_URL to one server after the other to find it, and replace it (docs/CLUSTER.md)',
      );
    }
    const { bucket, revision } = entry;
    const version = versionIn(entry.string());
    if (version === 1) return { map: entry.json<ClusterMap>(), revision };
    throw new StartError(
      typeof version === 'number'
        ? `the map of the cluster (bucket ${bucket}) has version ${version}, expected 1: use the vectord ` +
            'that wrote it, or a newer one'
        : `the map of the cluster (bucket ${bucket}) is none that a node has written: another client of ` +
            'NATS has. No node can start with it: docs/CLUSTER.md says how to make a new cluster',
    );
  }

  /** Writes a map in place of one that was read, or the first; rejects where another node was first. */
  async write(map: ClusterMap, revision: number | undefined): Promise<void> {
    const text = JSON.stringify(map);
    if (revision === undefined) await this.bucket.create(KEY, text);
    else await this.bucket.update(KEY, text, revision);
  }
}
