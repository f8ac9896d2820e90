import type { VectorClient, TestPoint } from '../support/clients.js';
import type { Random } from '../support/random.js';
import type { Ledger } from './ledger.js';

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
    if (dice < (stored.size > POINTS ? 0.9 : 0.3) && stored.size > OLDEST) {
      await this.#ledger.delete(this.#anyOfTheOldest(), (id) => client.delete(id));
    } else if (random.next() < 0.3) {
      const count = random.below(20) === 0 ? 100 : 2 + random.below(8);
      const points = Array.from({ length: count }, () => randomPoint(random));
      await this.#ledger.insert(points, (sent) => client.insertBatch(sent));
    } else {
      const point = randomPoint(random);
      await this.#ledger.insert([point], async () => [await client.insert(point)]);
    }
  }

  #anyOfTheOldest(): string {
    let place = this.#random.below(OLDEST);
    for (const id of this.#ledger.stored.keys()) {
      if (place === 0) return id;
      place -= 1;
    }
    throw new Error(`fewer than ${OLDEST} points are stored`);
  }
}

let made = 0;

/** A point whose content nothing else has. */
export function randomPoint(random: Random): TestPoint {
  made += 1;
  const filler = 'Größe 大小 \u0000"\\'.repeat(random.below(random.below(8) === 0 ? 100 : 4));
  return {
    vector: random.vector(DIMENSION),
    contentType: random.pick(['Text', 'Image']),
    content: `point ${made} ${filler}`,
  };
}
