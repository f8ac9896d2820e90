import { Worker } from 'node:worker_threads';
import { VectordError, type ErrorCode } from '../errors.js';
import type { Rules } from '../rules.js';
import { messageOf } from '../start-error.js';
import { JOBS, type Answer, type JobName } from './jobs.js';

/** Below, a request is read in less time than others notice. */
const LARGE_BYTES = 128 * 1024;

/** What the thread is asked. */
export interface Task {
  readonly number: number;
  readonly name: JobName;
  readonly bytes: Uint8Array;
}

/** What it answers. */
export type Outcome =
  | { readonly number: number; readonly answer: object }
  | { readonly number: number; readonly code: ErrorCode; readonly message: string };

interface Waiting {
  readonly resolve: (answer: object) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Reads what requests hold: small ones at once, large ones on a thread of their own, one after the
 * other, because nobody else is served while this thread reads. It starts with the first of them.
 */
export class Decoder {
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #tasks = 0;

  constructor(
    private readonly rules: Rules,
    private readonly program = new URL('./worker.js', import.meta.url),
  ) {}

  /**
   * What the request in `bytes` holds. Rejects with a VectordError where it is not what it should
   * be. The bytes are not to be used afterwards.
   */
  async decode<Name extends JobName>(name: Name, bytes: Uint8Array): Promise<Answer<Name>> {
    const isSmall = bytes.length < LARGE_BYTES;
    const answer = isSmall ? JOBS[name](bytes, this.rules) : await this.#handOver(name, bytes);
    return answer as Answer<Name>;
  }

  /** Ends the thread. What it was to read is refused. */
  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #handOver(name: JobName, bytes: Uint8Array): Promise<object> {
    const number = this.#tasks;
    this.#tasks += 1;
    // Of memory that others use as well, the thread gets a copy.
    const isWhole = bytes.length === bytes.buffer.byteLength;
    const task: Task = { number, name, bytes: isWhole ? bytes : new Uint8Array(bytes) };
    this.#worker ??= this.#start();
    this.#worker.postMessage(task, [task.bytes.buffer as ArrayBuffer]);
    return new Promise((resolve, reject) => this.#waiting.set(number, { resolve, reject }));
  }

  #start(): Worker {
    const worker = new Worker(this.program, { workerData: this.rules });
    worker.unref();
    worker.on('message', (outcome: Outcome) => this.#settle(outcome));
    // A request can be too much for its memory, which ends it; the next one starts another.
    let reason = 'the thread that reads large requests has ended';
    worker.once('error', (error) => (reason += `: ${messageOf(error)}`));
    worker.once('exit', () => {
      this.#worker = undefined;
      for (const { reject } of this.#waiting.values()) reject(new Error(reason));
      this.#waiting.clear();
    });
    return worker;
  }

  #settle(outcome: Outcome): void {
    const waiting = this.#waiting.get(outcome.number);
    this.#waiting.delete(outcome.number);
    if ('answer' in outcome) waiting?.resolve(outcome.answer);
    else waiting?.reject(new VectordError(outcome.code, outcome.message));
  }
}
