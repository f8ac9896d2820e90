import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { idFor } from '../../src/client/id-for.js';
import type { NewPoint } from '../../src/client/model.js';
import { open } from './open.js';
import { Restartable } from './restart.js';

/** Some by default; a long run sets more, and kills less often. */
const POINTS = Number(process.env['VECTORD_LOAD_POINTS'] ?? 15_000);
const KILL_EVERY_MS = Number(process.env['VECTORD_LOAD_KILL_MS'] ?? 500);
const DIMENSION = 128;
const TIMEOUT_MS = 60_000 + POINTS * 5;

/** Kills a service again and again, and starts it anew. */
class Killer {
  kills = 0;
  readonly #isOver = new AbortController();
  readonly #killing: Promise<void>;

  constructor(private readonly service: Restartable) {
    this.#killing = this.#go();
  }

  async #go(): Promise<void> {
    while (!this.#isOver.signal.aborted) {
      await sleep(KILL_EVERY_MS);
      this.kills += 1;
      await this.service.restart();
    }
  }

  /** Resolves once the service runs and is left alone. */
  async stop(): Promise<void> {
    this.#isOver.abort();
    await this.#killing;
  }
}

/** Points that are the same in each load. */
function* points(): Generator<NewPoint> {
  for (let number = 0; number < POINTS; number += 1) {
    const vector = new Float32Array(DIMENSION).fill(number % 1_000);
    vector[number % DIMENSION] = number;
    yield { id: idFor(String(number)), vector, content: String(number) };
  }
}

test.each(['http', 'grpc'] as const)(
  `a load of ${POINTS} points over %s that kill -9 interrupts, done again, ends with as many`,
  async (protocol) => {
    const service = await Restartable.start({ dimension: DIMENSION });
    const client = open(service.server, protocol, { retries: { maxMs: 500 } });
    const killer = new Killer(service);
    const loads = [];
    while (loads.length < 2 || killer.kills < 2) loads.push(await client.bulk(points()));
    await killer.stop();
    console.log(`${protocol}: ${killer.kills} kills, ${JSON.stringify(loads)}`);
    expect(await client.count()).toBe(POINTS);
    const seen = new Set<string>();
    for await (const { id, content } of client.scroll({ include: ['content'] })) {
      expect(id).toBe(idFor(content ?? ''));
      seen.add(id);
    }
    expect(seen.size).toBe(POINTS);
    client.close();
  },
  TIMEOUT_MS,
);
