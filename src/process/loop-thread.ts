import { Worker } from 'node:worker_threads';
import type { Key } from '../auth/keys-file.js';
import type { TlsPair } from '../auth/tls-files.js';
import type { LoopStats } from '../observe/loop-stats.js';
import type { LargeReader } from '../wire/decoder.js';
import { memoryOf } from '../wire/transfer.js';
import type { LoopControl, LoopParts, LoopSettings } from './loop.js';
import type { LargeRequest, LoopOrders, LoopThreadData, MainOrders } from './loop-orders.js';
import { Moved, PortCalls } from './port-calls.js';

/**
 * A thread that loads the code of a loop. That takes about as long as a start of the service does
 * otherwise: it is begun meanwhile. A process that ends does not wait for it.
 */
export function openLoopWorker(): Worker {
  const worker = new Worker(new URL('./loop-worker.js', import.meta.url));
  worker.unref();
  return worker;
}

/** A loop on a thread of its own. */
export class LoopThread implements LoopControl {
  readonly #worker: Worker;
  readonly #data: LoopThreadData;
  readonly #calls: PortCalls<LoopOrders>;
  #isEnding = false;

  constructor(
    worker: Worker,
    settings: LoopSettings,
    { engine, http, grpc, large, metrics }: LoopParts,
  ) {
    this.#worker = worker;
    worker.ref();
    this.#data = {
      settings,
      engine: engine.share(),
      http: http.share(),
      grpc: grpc.share(),
    };
    const reader = new RequestsOfThread(large);
    const orders: MainOrders = {
      metrics,
      read: async (request) => await reader.read(request),
      abandon: (number) => reader.abandon(number),
    };
    this.#calls = new PortCalls(this.#worker, orders);
    let cause: unknown;
    this.#worker.once('error', (error) => (cause = error));
    this.#worker.once('exit', () => {
      // Nobody catches it: this ends the process, see shutdown.ts.
      if (!this.#isEnding) throw new Error('the thread of a loop has ended', { cause });
    });
  }

  /** Makes the loop. Resolves once it can take connections. */
  async begin(): Promise<void> {
    await this.#calls.call('begin', this.#data);
  }

  async setKeys(keys: readonly Key[]): Promise<void> {
    await this.#calls.call('setKeys', keys);
  }

  async setTlsPair(pair: TlsPair): Promise<void> {
    await this.#calls.call('setTlsPair', pair);
  }

  async stats(): Promise<LoopStats> {
    return await this.#calls.call('stats', undefined);
  }

  async close(graceMs: number): Promise<void> {
    await this.#calls.call('close', graceMs);
  }

  /** Ends the thread, which nothing in the engine may wait for any more. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#worker.terminate();
  }
}

/** The large requests of one thread, as far as they are not read. */
class RequestsOfThread {
  readonly #abandon = new Map<number, () => void>();

  constructor(private readonly large: LargeReader) {}

  async read({ number, task }: LargeRequest): Promise<Moved> {
    try {
      const onEnd = (listener: () => void): void => void this.#abandon.set(number, listener);
      const answer = await this.large.read(task, onEnd);
      return new Moved(answer, memoryOf(answer));
    } finally {
      this.#abandon.delete(number);
    }
  }

  abandon(number: number): void {
    this.#abandon.get(number)?.();
  }
}
