import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Filter, Metadata as PointMetadata } from '../../src/client/model.js';
import type { VectorClient, TestPoint } from '../support/clients.js';
import { passes } from '../support/filter-model.js';
import type { Random } from '../support/random.js';
import type { Changes, Ledger } from './ledger.js';

export const DIMENSION = 24;

const WRITERS_PER_INTERFACE = 12;

/** With more points than that, most writes are deletes: what is left can be read in a second. */
const POINTS = 600;

/** Any of the oldest are deleted: some were stored just now, some before the last crash. */
const OLDEST = 100;

/** Writes of every kind on both interfaces, many under way at any time, until it is told to end. */
export class Load {
  acknowledged = 0;
  readonly #ledger: Ledger;
  readonly #random: Random;
  readonly #writers: Promise<void>[];
  #ending = false;

  constructor(clients: readonly VectorClient[], ledger: Ledger, random: Random) {
    this.#ledger = ledger;
    this.#random = random;
    this.#writers = clients.flatMap((client) =>
      Array.from({ length: WRITERS_PER_INTERFACE }, () => this.#write(client)),
    );
  }

  /** Resolves once so many writes were answered; fails if one was refused. */
  async reaches(acknowledged: number): Promise<void> {
    await this.until(() => this.acknowledged >= acknowledged);
  }

  /** Resolves once something has come about; fails if a write was refused. */
  async until(condition: () => boolean): Promise<void> {
    const failed = Promise.all(this.#writers);
    while (!condition()) {
      await Promise.race([failed, new Promise((resolve) => setTimeout(resolve, 1))]);
    }
  }

  /** From now on a write that fails counts as not answered. Resolves when none is under way. */
  async end(): Promise<void> {
    this.#ending = true;
    await Promise.all(this.#writers);
  }

  async #write(client: VectorClient): Promise<void> {
    while (!this.#ending) {
      try {
        await this.#writeOnce(client);
        this.acknowledged += 1;
      } catch (error) {
        if (!this.#ending) throw error;
      }
    }
  }

  async #writeOnce(client: VectorClient): Promise<void> {
    const random = this.#random;
    const stored = this.#ledger.stored;
    const dice = random.next();
    const deletes = stored.size > POINTS ? 0.75 : 0.2;
    if (dice < deletes && stored.size > OLDEST) {
      const kind = random.next();
      if (kind < 0.5) await this.#deleteOne(client);
      else if (kind < 0.7) await this.#deleteSome(client);
      else await this.#deleteMatching(client);
    } else if (dice < deletes + 0.2 && stored.size > OLDEST) {
      if (random.next() < 0.5) await this.#upsert(client);
      else await this.#update(client);
    } else if (random.next() < 0.3) {
      const count = random.below(20) === 0 ? 100 : 2 + random.below(8);
      const points = Array.from({ length: count }, () => randomPoint(random));
      await this.#ledger.insert(points, (sent) => client.insertBatch(sent));
    } else {
      const point = randomPoint(random);
      await this.#ledger.insert([point], async () => [await client.insert(point)]);
    }
  }

  async #deleteOne(client: VectorClient): Promise<void> {
    const [id = ''] = this.#someOfTheOldest(1);
    await this.#ledger.delete(id, (sent) => client.delete(sent));
  }

  async #deleteSome({ v1 }: VectorClient): Promise<void> {
    const ids = this.#someOfTheOldest(8);
    await this.#ledger.change(new Map(ids.map((id) => [id, undefined])), async () => {
      assert.deepEqual(await v1.delete(ids), { deleted: ids.length, missing: [] });
    });
  }

  /** Deletes the points of some groups by a filter, or one by its id if none can be told. */
  async #deleteMatching(client: VectorClient): Promise<void> {
    const filter = this.#filterOfGroups();
    const ids = this.#ledger.passing((id, point) => passes(filter, { id, ...point }));
    if (ids === undefined) return await this.#deleteOne(client);
    await this.#ledger.change(new Map(ids.map((id) => [id, undefined])), async () => {
      const answer = await client.v1.deleteMatching(filter);
      assert.deepEqual(answer, { deleted: ids.length, missing: [] });
    });
  }

  /** A filter that passes points of groups that there are: later points are in other groups. */
  #filterOfGroups(): Filter {
    const random = this.#random;
    const groups = [...this.#ledger.stored.values()].flatMap(({ metadata }) => {
      const group = metadata?.['group'];
      return typeof group === 'number' ? [group] : [];
    });
    const [first, second] = [random.pick([0, ...groups]), random.pick([0, ...groups])];
    return random.pick<Filter>([
      { group: first },
      { group: { $in: [first, second] } },
      { group: { $gt: first - 3, $lte: first } },
      { kind: 'größe', $or: [{ group: first }, { group: second, tags: 'b' }] },
      { $not: { group: { $nin: [first, second] } } },
    ]);
  }

  /** Replaces points, and stores others whose ids are new, or those of points that were deleted. */
  async #upsert({ v1 }: VectorClient): Promise<void> {
    const random = this.#random;
    const replaced = this.#someOfTheOldest(4);
    const [deleted] = this.#ledger.deleted;
    const fresh = Array.from({ length: random.pick([1, 1, 20]) }, () => randomUUID());
    const others = deleted === undefined || random.next() < 0.5 ? fresh : [deleted];
    const group = nextNumber();
    const changes = [...replaced, ...others].map(
      (id) => [id, { ...randomPoint(random), metadata: randomMetadata(random, group) }] as const,
    );
    await this.#ledger.change(new Map(changes), async () => {
      const { stored, replaced: there } = await v1.upsert(
        changes.map(([id, point]) => ({ id, ...point })),
      );
      assert.deepEqual([stored, there], [others.length, replaced.length]);
    });
  }

  /** Gives points other contents, other metadata, or both. */
  async #update({ v1 }: VectorClient): Promise<void> {
    const random = this.#random;
    const group = nextNumber();
    const updates = this.#someOfTheOldest(4).map((id) => {
      const { content, contentType } = randomPoint(random);
      const metadata = { metadata: randomMetadata(random, group) };
      return { id, ...random.pick([metadata, { content }, { content, contentType, ...metadata }]) };
    });
    const changes: Changes = new Map(
      updates.map(({ id, ...parts }) => [id, { ...this.#pointOf(id), ...parts }]),
    );
    await this.#ledger.change(changes, async () => {
      assert.deepEqual(await v1.update(updates), { updated: updates.length, missing: [] });
    });
  }

  #pointOf(id: string): TestPoint {
    const point = this.#ledger.stored.get(id);
    if (point === undefined) throw new Error(`the point ${id} is not known to be stored`);
    return point;
  }

  /** At least one, and at most so many, of the oldest that are stored. */
  #someOfTheOldest(most: number): string[] {
    const oldest = [...this.#ledger.stored.keys()].slice(0, OLDEST);
    const start = this.#random.below(OLDEST);
    return oldest.slice(start, start + 1 + this.#random.below(most));
  }
}

let lastNumber = 0;

/** A number that is given once. */
function nextNumber(): number {
  lastNumber += 1;
  return lastNumber;
}

/** A point whose content nothing else has. */
export function randomPoint(random: Random): TestPoint {
  const filler = 'Größe 大小 \u0000"\\'.repeat(random.below(random.below(8) === 0 ? 100 : 4));
  return {
    vector: random.vector(DIMENSION),
    contentType: random.pick(['Text', 'Image']),
    content: `point ${nextNumber()} ${filler}`,
  };
}

/** The metadata of a point, mostly as a member of a group. */
function randomMetadata(random: Random, group: number): PointMetadata | null {
  const full = { kind: 'größe', rank: random.below(1_000), tags: ['a', 'b'], group };
  return random.pick<PointMetadata | null>([null, {}, full, full, full]);
}
