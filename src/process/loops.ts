import type { Worker } from 'node:worker_threads';
import type { Key } from '../auth/keys-file.js';
import type { TlsPair } from '../auth/tls-files.js';
import type { LoopStats } from '../observe/loop-stats.js';
import { LoopThread } from './loop-thread.js';
import { Loop, type LoopControl, type LoopParts, type LoopSettings } from './loop.js';

/** All event loops of the service: that of the calling thread, and those on threads of their own. */
export class Loops implements LoopControl {
  private constructor(
    /** That of the calling thread. */
    readonly own: Loop,
    private readonly threads: readonly LoopThread[],
  ) {}

  /** Starts one on each of these threads, and that of the calling thread. */
  static async start(
    workers: readonly Worker[],
    settings: LoopSettings,
    parts: LoopParts,
  ): Promise<Loops> {
    const own = new Loop(settings, parts);
    const threads = workers.map((worker) => new LoopThread(worker, settings, parts));
    await Promise.all(threads.map((thread) => thread.begin()));
    return new Loops(own, threads);
  }

  async setKeys(keys: readonly Key[]): Promise<void> {
    await this.#each((loop) => loop.setKeys(keys));
  }

  async setTlsPair(pair: TlsPair): Promise<void> {
    await this.#each((loop) => loop.setTlsPair(pair));
  }

  /** What each of them tells. */
  async stats(): Promise<readonly [LoopStats, ...LoopStats[]]> {
    const [own, ...others] = await this.#each((loop) => loop.stats());
    return [own as LoopStats, ...others];
  }

  async close(graceMs: number): Promise<void> {
    await this.#each((loop) => loop.close(graceMs));
  }

  /** Ends their threads, for which nothing in the engine may be under way any more. */
  async end(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.end()));
  }

  async #each<Answer>(ask: (loop: Loop | LoopThread) => Promise<Answer>): Promise<Answer[]> {
    return await Promise.all([this.own, ...this.threads].map(ask));
  }
}
