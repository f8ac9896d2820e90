import { Worker } from 'node:worker_threads';
import { VectordError, type ErrorCode } from '../core/errors.js';
import type { OnRequestEnd } from '../core/request-end.js';
import type { Rules } from '../core/rules.js';
import { decoderHeapBytes } from './decoder-heap.js';
import type { LargeReader, Task } from './decoder.js';
import { ownBytes } from './transfer.js';

const MIB = 1024 * 1024;

/** How long the thread waits for the next request before its memory is given back. */
const IDLE_MS = 10_000;

/** Every so many requests the oldest that waits is next, however large it is. */
const OLDEST_EVERY = 4;

/** What the thread answers. */
export type Outcome =
  { readonly answer: object } | { readonly code: ErrorCode; readonly message: string };

interface Waiting {
  readonly task: Task;
  readonly resolve: (answer: object) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Reads large requests on a thread of its own, one after the other. Of those that wait the smallest
 * is next, so that it does not wait until all that is larger has been read. The thread starts with
 * the first of them, and ends when there has been none for a while.
 * No request is too much for it; should it end nevertheless, that is a defect, which ends the
 * process.
 */
export class DecoderThread implements LargeReader {
  /** Those that the thread has not been handed yet, in the order in which they came. */
  readonly #queue = new Set<Waiting>();
  #running: Waiting | undefined;
  #dispatched = 0;
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #isStopping = false;

  constructor(
    private readonly rules: Rules,
    private readonly program = new URL('./decoder-worker.js', import.meta.url),
    private readonly idleMs = IDLE_MS,
  ) {}

  /** Large requests that the thread has not come to yet. */
  get waiting(): number {
    return this.#queue.size;
  }

  read(task: Task, onRequestEnd: OnRequestEnd): Promise<object> {
    if (this.#isStopping) return Promise.reject(isStopping());
    return new Promise((resolve, reject) => {
      const waiting = { task, resolve, reject };
      this.#queue.add(waiting);
      // Its memory no longer counts for the budget of all requests, so it must not be kept.
      onRequestEnd(() => {
        if (this.#queue.delete(waiting) || this.#running === waiting) reject(hasGone());
      });
      this.#next();
    });
  }

  /** From now on large requests that the thread has not come to are refused. */
  refuseUnread(): void {
    this.#isStopping = true;
    this.#refuseQueue();
  }

  /** Ends the thread. What has not been read is refused. */
  async close(): Promise<void> {
    this.#refuseQueue();
    this.#running?.reject(isStopping());
    this.#running = undefined;
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #refuseQueue(): void {
    for (const { reject } of this.#queue) reject(isStopping());
    this.#queue.clear();
  }

  #next(): void {
    if (this.#running !== undefined) return;
    clearTimeout(this.#idle);
    const waiting = this.#takeNext();
    if (waiting === undefined) {
      this.#idle = setTimeout(() => this.#rest(), this.idleMs).unref();
      return;
    }
    this.#running = waiting;
    this.#worker ??= this.#start();
    const { name } = waiting.task;
    const bytes = ownBytes(waiting.task.bytes);
    this.#worker.postMessage({ name, bytes } satisfies Task, [bytes.buffer]);
  }

  #takeNext(): Waiting | undefined {
    let [next] = this.#queue;
    if (next === undefined) return undefined;
    this.#dispatched += 1;
    if (this.#dispatched % OLDEST_EVERY !== 0) {
      for (const waiting of this.#queue) {
        if (waiting.task.bytes.length < next.task.bytes.length) next = waiting;
      }
    }
    this.#queue.delete(next);
    return next;
  }

  /** What large requests have left in the heap of the thread would stay there until the next. */
  #rest(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
  }

  #start(): Worker {
    const heapBytes = decoderHeapBytes(this.rules.limits);
    const resourceLimits = { maxOldGenerationSizeMb: Math.ceil(heapBytes / MIB) };
    const worker = new Worker(this.program, { workerData: this.rules, resourceLimits });
    worker.unref();
    worker.on('message', (outcome: Outcome) => {
      if (worker !== this.#worker) return;
      if ('answer' in outcome) this.#running?.resolve(outcome.answer);
      else this.#running?.reject(new VectordError(outcome.code, outcome.message));
      this.#running = undefined;
      this.#next();
    });
    let cause: unknown;
    worker.once('error', (error) => (cause = error));
    worker.once('messageerror', (error) => {
      throw hasEnded({ cause: error });
    });
    worker.once('exit', () => {
      // Nobody catches it, see shutdown.ts.
      if (worker === this.#worker) throw hasEnded({ cause });
    });
    return worker;
  }
}

function isStopping(): Error {
  return new VectordError('UNAVAILABLE', 'The service is stopping');
}

function hasGone(): Error {
  return new VectordError('CANCELLED', 'Nobody waits for the answer any more');
}

function hasEnded(options?: ErrorOptions): Error {
  return new Error('the thread that reads large requests has ended', options);
}
