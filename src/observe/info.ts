import { setTimeout as sleep } from 'node:timers/promises';
import { VERSION } from '../config/version.js';
import { VectordError } from '../core/errors.js';
import type { Limits } from '../core/limits.js';
import type { Similarity } from '../core/model.js';
import type { Points } from '../core/points.js';
import type { Rules } from '../core/rules.js';
import type { Engine, EngineStatus } from '../engine/native.js';
import { FolderMeasure } from './folder-size.js';

/** How far the graph of a similarity is; searches scan what it does not hold. */
export type GraphState = 'building' | 'ready' | 'failed';

export interface GraphInfo {
  readonly similarity: Similarity;
  readonly state: GraphState;
  /** Points that it is to hold, deleted ones included until their slots are free. */
  readonly slots: number;
  /** Those that it holds so far. */
  readonly linked: number;
  /** Memory that it takes, about. */
  readonly bytes: number;
  /** Since the last search that could use it, or since the start of the service. */
  readonly idleSeconds: number;
}

/** Whether all points are in the index of a field; `scanned` has none, as there is no room for it. */
export type FilterIndexState = 'building' | 'ready' | 'scanned';

export interface FilterIndexInfo {
  /** A key of metadata, or `$content_type`. */
  readonly field: string;
  readonly state: FilterIndexState;
  /** Memory that it takes; of a field that is scanned, that it would take. */
  readonly bytes: number;
}

/** What the service tells those who have a key. */
export interface Info {
  readonly version: string;
  /** Values of each vector. */
  readonly dimension: number;
  /**
   * In all shards of a cluster, or, where one does not answer, in that of this node, of which all that
   * follows is.
   */
  readonly points: number;
  /** Space that the data folder takes on its disk; undefined where the system does not tell. */
  readonly bytes: number | undefined;
  readonly graphs: readonly GraphInfo[];
  /** In the order of the fields. */
  readonly filterIndex: readonly FilterIndexInfo[];
  readonly limits: Limits;
}

/** How long the shards of a cluster may take to count their points. */
const COUNT_MS = 2_000;

export class InfoReader {
  readonly #folder: FolderMeasure;

  constructor(
    private readonly points: Pick<Points, 'count'>,
    private readonly engine: Pick<Engine, 'status'>,
    private readonly rules: Rules,
    dataPath: string,
  ) {
    this.#folder = new FolderMeasure(dataPath);
  }

  /** Those who look at a cluster of which a part does not answer want all the rest. */
  async #count(): Promise<number> {
    try {
      const count = await Promise.race([
        this.points.count(undefined, () => undefined),
        sleep(COUNT_MS, undefined, { ref: false }),
      ]);
      if (count !== undefined) return count;
    } catch (error) {
      if (!(error instanceof VectordError) || error.code !== 'UNAVAILABLE') throw error;
    }
    return this.engine.status().points;
  }

  async read(): Promise<Info> {
    const [size, points] = await Promise.all([this.#folder.size(), this.#count()]);
    const { graphs, columns } = this.engine.status();
    const { dimension, limits } = this.rules;
    return {
      version: VERSION,
      dimension,
      points,
      bytes: size?.usedBytes,
      graphs: graphs.map(({ metric, exists, caughtUp, slots, linked, bytes, idleSeconds }) => ({
        similarity: metric as Similarity,
        state: exists ? (caughtUp ? 'ready' : 'building') : 'failed',
        slots,
        linked,
        bytes,
        idleSeconds,
      })),
      filterIndex: filterIndexOf(columns),
      limits,
    };
  }
}

function filterIndexOf(columns: EngineStatus['columns']): FilterIndexInfo[] {
  const parts = columns.map(({ field, exists, isRead, bytes }) => ({
    field,
    state: exists ? (isRead ? 'ready' : 'building') : 'scanned',
    bytes,
  })) satisfies FilterIndexInfo[];
  return parts.toSorted((a, b) => (a.field < b.field ? -1 : 1));
}
