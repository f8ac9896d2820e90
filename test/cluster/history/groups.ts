import { randomUUID } from 'node:crypto';
import { slotOf } from '../../../src/cluster/shards/slots.js';
import type { Random } from '../../support/random.js';

/** The id and the vector of a point. */
export interface Key {
  readonly id: string;
  readonly vector: readonly number[];
}

/** Keys that are written together. */
export interface Group {
  readonly number: number;
  readonly keys: readonly Key[];
  uses: number;
  unknown: number;
}

/** How many keys a group has. */
export const KEYS = 3;
/** Few, so that operations meet. */
const GROUPS_IN_USE = 3;

/**
 * The work of the checker grows with the operations on a group, and doubles with each whose outcome is
 * unknown: after so many of them other keys take the place of a group.
 */
const MOST_USES = 500;
const MOST_UNKNOWN = 6;

/** About how far groups are from each other, where the vectors of one differ by about 1. */
const DISTANCE = 10_000;

/** The groups of a workload, a few of which are in use at a time. */
export class Groups {
  readonly all: Group[] = [];
  readonly #inUse: Group[] = [];

  constructor(private readonly dimension: number) {}

  pick(random: Random): Group {
    const place = random.below(GROUPS_IN_USE);
    let group = this.#inUse[place];
    if (group === undefined || group.uses >= MOST_USES || group.unknown >= MOST_UNKNOWN) {
      group = this.#inUse[place] = this.#add();
    }
    group.uses += 1;
    return group;
  }

  /** No other run on the same points has its keys, whatever the seed. */
  #add(): Group {
    const place = Array.from({ length: this.dimension }, () => Math.random() * DISTANCE);
    const keys = idsOfOneSlot(KEYS).map((id) => ({
      id,
      vector: place.map((value) => Math.fround(value + Math.random())),
    }));
    const group = { number: this.all.length, keys, uses: 0, unknown: 0 };
    this.all.push(group);
    return group;
  }
}

/** A write of points in several shards is not atomic: those of one slot are always in one shard. */
function idsOfOneSlot(count: number): string[] {
  const slot = slotOfId(randomUUID());
  const ids: string[] = [];
  while (ids.length < count) {
    const id = randomUUID();
    if (slotOfId(id) === slot) ids.push(id);
  }
  return ids;
}

function slotOfId(id: string): number {
  return slotOf(Buffer.from(id.replaceAll('-', ''), 'hex'), 0);
}
