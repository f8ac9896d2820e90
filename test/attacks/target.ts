import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, type TestServer } from '../support/server.js';
import * as wire from '../support/wire.js';
import { openClients, type TestPoint, type VectorClient } from '../support/clients.js';
import { Random } from '../support/random.js';

export const MIB = 1024 * 1024;
export const DIMENSION = 32;
const POINTS = 2_000;

/** Limits that are reached sooner than the usual ones, so that an attack can be short. */
export const LIMITS = {
  MAX_REQUEST_BYTES: String(8 * MIB),
  MAX_INFLIGHT_BYTES: String(64 * MIB),
  MAX_BATCH: '10000',
  MAX_CONNECTIONS: '256',
};

/**
 * What docs/SECURITY.md states: twice MAX_INFLIGHT_BYTES, eight times MAX_REQUEST_BYTES and 512 MiB,
 * on top of what the service takes when it is calm.
 */
export const MEMORY_BOUND_BYTES = 2 * 64 * MIB + 8 * 8 * MIB + 512 * MIB;

/** A service with points in it, and what is known of it before anybody attacks it. */
export class Target {
  readonly query = new Random(1).vector(DIMENSION);
  readonly #client: VectorClient;
  #calmAnswer: readonly string[] = [];
  calmSockets = 0;
  calmBytes = 0;

  private constructor(readonly server: TestServer) {
    this.#client = openClients(server)[0];
  }

  static async start(env: Readonly<Record<string, string>> = {}): Promise<Target> {
    const server = await startServer({ dimension: DIMENSION, env: { ...LIMITS, ...env } });
    const target = new Target(server);
    const points = Array.from({ length: POINTS }, (_, index) => pointOf(index));
    await target.#client.insertBatch(points);
    target.#calmAnswer = await target.#search();
    return target;
  }

  get searchMessage(): Buffer {
    return wire.searchRequest(this.query, 10);
  }

  get searchJson(): string {
    return JSON.stringify({ vector: this.query, similarity: 'Euclidean', limit: 10 });
  }

  /** What is wrong with the service now; nothing while it answers as it did when it was calm. */
  async faults(): Promise<string[]> {
    const faults: string[] = [];
    const answer = await this.#search();
    if (answer.join() !== this.#calmAnswer.join()) faults.push('a search has another answer');
    if (answer.length !== POINTS) faults.push(`there are ${answer.length} points, not ${POINTS}`);
    const point = pointOf(POINTS + 1);
    const id = await this.#client.insert(point);
    const found = await this.#client.get(id);
    if (found.content !== point.content) faults.push('a point does not come back');
    await this.#client.delete(id);
    const ready = await fetch(`${this.server.http}/ready`);
    if (ready.status !== 200) faults.push(`not ready: ${await ready.text()}`);
    return faults;
  }

  /** All points, and more if there are. The nearest few could be others once the graph has changed. */
  async #search(): Promise<string[]> {
    const { query: vector } = this;
    return await this.#client.search({ vector, similarity: 'Euclidean', limit: POINTS + 1_000 });
  }

  /** Memory of the process, now or at its peak since the last `forgetPeak`. */
  memoryBytes(field: 'VmRSS' | 'VmHWM'): number {
    const text = readFileSync(`/proc/${this.server.pid}/status`, 'utf8');
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]) * 1024;
  }

  forgetPeak(): void {
    writeFileSync(`/proc/${this.server.pid}/clear_refs`, '5');
  }

  /** How many sockets the process has open. */
  sockets(): number {
    return this.socketInodes().length;
  }

  /** What the system calls them. */
  socketInodes(): string[] {
    const folder = `/proc/${this.server.pid}/fd`;
    const links = readdirSync(folder).map((name) => linkIn(`${folder}/${name}`));
    return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
  }

  /** Waits until `condition` holds, for as long as a busy machine may take; answers whether. */
  async until(condition: () => boolean | Promise<boolean>, patienceMs = 40_000): Promise<boolean> {
    const giveUpAtMs = performance.now() + patienceMs;
    while (!(await condition())) {
      if (performance.now() > giveUpAtMs) return false;
      await sleep(20);
    }
    return true;
  }
}

function linkIn(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // It has been closed since the folder was read.
    return '';
  }
}

function pointOf(index: number): TestPoint {
  return {
    vector: new Random(index + 10).vector(DIMENSION),
    contentType: 'Text',
    content: `${index}`,
  };
}
