import type { Points } from '../../core/points.js';

/** The points of one shard: those with an id in one of its slots. */
export interface ShardPoints extends Points {
  /** Whether it stores nothing at present, since most of its replicas have full disks. */
  isFull(): boolean;
  /** Whether its last writes had no outcome, as where most of its replicas are away. */
  isSilent(): boolean;
}

/** All shards, by their numbers. */
export class Shards {
  /** Each of them, as a part of a request that is for all. */
  readonly all: readonly { readonly shard: number }[];
  #next = 0;

  /** @param dimension values in each vector */
  constructor(
    private readonly list: readonly ShardPoints[],
    readonly dimension: number,
  ) {
    this.all = list.map((_, shard) => ({ shard }));
  }

  get count(): number {
    return this.list.length;
  }

  at(shard: number): ShardPoints {
    const found = this.list[shard];
    if (found === undefined) throw new Error(`there is no shard ${shard} of ${this.count}`);
    return found;
  }

  /** The shard for a batch that any can take: one after the other, except for those that cannot. */
  next(): number {
    const first = this.#next;
    const inTurn = this.all.map((_, passed) => (first + passed) % this.count);
    const canTake = (shard: number): boolean => {
      const points = this.at(shard);
      return !points.isFull() && !points.isSilent();
    };
    const shard = inTurn.find(canTake) ?? first;
    this.#next = (shard + 1) % this.count;
    return shard;
  }
}
