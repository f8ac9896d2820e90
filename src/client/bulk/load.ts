import { always, type Calls } from '../calls.js';
import { boolean, callable, members, milliseconds, whole, wrong } from '../checks.js';
import type { BulkOptions } from '../interface.js';
import type { BulkProgress, NewPoint, Upserted } from '../model.js';
import { onAbort } from '../on-abort.js';
import { repeat, type RepeatRules } from '../repeat.js';
import { within } from '../time-limit.js';
import type { Attempt, Transport } from '../transport.js';
import type { Batch, BatchLimits } from './batch.js';
import { batchesOf } from './batches.js';

const DEFAULT_BATCH_BYTES = 1024 * 1024;
const DEFAULT_WINDOW = 4;
const DEFAULT_PATIENCE_MS = 60_000;

/**
 * Points of a batch at most. A service whose graphs lag behind takes as many points as they link, and
 * batches of more would wait for longer than a call may take.
 */
const MAX_POINTS = 4_096;

const OPTIONS: readonly string[] = [
  'batchBytes',
  'window',
  'ifAbsent',
  'onProgress',
  'patienceMs',
  'deadlineMs',
  'signal',
] satisfies readonly (keyof BulkOptions)[];

/** What a request takes beside its points, at most. */
const FRAME_BYTES = 64;

/** Stores any number of points; see `Client.bulk`. */
export async function load(
  transport: Transport,
  calls: Calls,
  points: Iterable<NewPoint<object>> | AsyncIterable<NewPoint<object>>,
  options: BulkOptions,
): Promise<BulkProgress> {
  if (!isIterable(points)) throw wrong('points', points, 'what can be iterated over');
  const bulk = new Load(transport, calls, members('options', options, OPTIONS));
  const ends = { deadlineMs: Infinity, signal: options.signal, closing: calls.closing };
  return await within(ends, (ended) => bulk.run(points, ended));
}

class Load {
  readonly #window: number;
  readonly #batchBytes: number;
  readonly #deadlineMs: number;
  readonly #rules: RepeatRules;
  readonly #ifAbsent: boolean;
  readonly #onProgress: BulkOptions['onProgress'];
  /** Aborted with what ends the load before its end. */
  readonly #failing = new AbortController();
  readonly #total = { stored: 0, replaced: 0, kept: 0, points: 0, leading: 0, bytes: 0 };
  /** Batches that are not acknowledged, in the order of their points. */
  readonly #pending = new Set<Batch>();
  /** Points of the source up to the last batch that is acknowledged. */
  #readTo = 0;

  constructor(
    private readonly transport: Transport,
    calls: Calls,
    options: BulkOptions,
  ) {
    const { window = DEFAULT_WINDOW, batchBytes = DEFAULT_BATCH_BYTES } = options;
    const { ifAbsent = false, onProgress } = options;
    const { deadlineMs = calls.deadlineMs, patienceMs = DEFAULT_PATIENCE_MS } = options;
    this.#ifAbsent = boolean('ifAbsent', ifAbsent);
    this.#onProgress = onProgress && callable('onProgress', onProgress);
    this.#window = whole('window', window, 1);
    this.#batchBytes = whole('batchBytes', batchBytes, 1);
    this.#deadlineMs = milliseconds('deadlineMs', deadlineMs);
    milliseconds('patienceMs', patienceMs);
    this.#rules = {
      ...calls.retries,
      attempts: Infinity,
      mayRepeat: always,
      endsAtMs: (failedAtMs) => failedAtMs + patienceMs,
    };
  }

  async run(
    points: Iterable<NewPoint<object>> | AsyncIterable<NewPoint<object>>,
    ended: AbortSignal,
  ): Promise<BulkProgress> {
    onAbort(ended, () => this.#failing.abort(ended.reason));
    const batches = batchesOf(points, await this.#limits(), this.transport);
    const workers = Array.from({ length: this.#window }, () => this.#work(batches));
    try {
      // A worker may wait for the next point of the source, for as long as that likes.
      await Promise.race([Promise.all(workers), rejectionOf(this.#failing.signal)]);
    } catch (error) {
      this.#failing.abort(error);
      void batches.return().catch(() => {});
      throw error;
    }
    return this.#total;
  }

  /** Stores one batch after the other. */
  async #work(batches: AsyncGenerator<Batch, void, undefined>): Promise<void> {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- a batch is read when the last one is stored
      const { done, value: batch } = await batches.next();
      if (done === true) return;
      this.#pending.add(batch);
      try {
        // oxlint-disable-next-line no-await-in-loop -- the window is the number of workers
        const stored = await this.#make(this.transport.upsert(batch.points, this.#ifAbsent));
        this.#count(batch, stored);
      } finally {
        batch.settle();
      }
      this.#onProgress?.({ ...this.#total });
    }
  }

  async #limits(): Promise<BatchLimits> {
    const { maxBatch, maxRequestBytes } = (await this.#make(this.transport.info())).limits;
    const maxBytes = Math.min(this.#batchBytes, maxRequestBytes - FRAME_BYTES);
    return { maxBytes, maxPoints: Math.min(maxBatch, MAX_POINTS) };
  }

  async #make<Answer>(attempt: Attempt<Answer>): Promise<Answer> {
    const deadlineMs = this.#deadlineMs;
    const limited: Attempt<Answer> = (closing) => within({ deadlineMs, closing }, attempt);
    return await repeat(limited, this.#rules, this.#failing.signal);
  }

  #count(batch: Batch, { stored, replaced, kept }: Upserted): void {
    const total = this.#total;
    total.stored += stored;
    total.replaced += replaced;
    total.kept += kept;
    total.points += batch.points.length;
    total.bytes += batch.bytes;
    this.#pending.delete(batch);
    const [first] = this.#pending;
    this.#readTo = Math.max(this.#readTo, batch.start + batch.points.length);
    total.leading = first?.start ?? this.#readTo;
  }
}

function isIterable(value: unknown): boolean {
  const object: unknown = Object(value);
  return Symbol.iterator in (object as object) || Symbol.asyncIterator in (object as object);
}

/** Rejects with the reason of the signal once that is aborted. */
async function rejectionOf(signal: AbortSignal): Promise<never> {
  return await new Promise((_, reject) => {
    onAbort(signal, () => reject(signal.reason as Error));
  });
}
