// The thread that reads large requests, see decoder.ts: it answers each task.
// oxlint-disable-next-line no-restricted-imports -- there is no other way to collect
import { setFlagsFromString } from 'node:v8';
// oxlint-disable-next-line no-restricted-imports -- there is no other way to collect
import { runInNewContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { VectordError } from '../core/errors.js';
import type { Rules } from '../core/rules.js';
import { messageOf } from '../core/start-error.js';
import type { Outcome, Task } from './decoder.js';
import { ANY_EFFORT } from './parse-budget.js';
import { BASE_BYTES } from './worker-heap.js';
import { JOBS } from './parsers.js';

const rules = workerData as Rules;

// A context that is made with this flag has the function.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

parentPort?.on('message', (task: Task) => {
  collectLeftovers();
  const outcome = carryOut(task);
  parentPort?.postMessage(outcome, 'answer' in outcome ? memoryOf(outcome.answer) : []);
});

/**
 * V8 would keep what the last requests have left, in its heap and as the memory of arrays, until the
 * heap is nearly full.
 */
function collectLeftovers(): void {
  const { heapUsed, external } = process.memoryUsage();
  if (heapUsed + external > BASE_BYTES) collect();
}

function carryOut({ name, bytes }: Task): Outcome {
  try {
    return { answer: JOBS[name](bytes, rules, ANY_EFFORT) };
  } catch (error) {
    const code = error instanceof VectordError ? error.code : 'INTERNAL';
    return { code, message: messageOf(error) };
  }
}

/**
 * What changes hands instead of being copied: not memory that is used for others, too. Of that which
 * node shares out, a little more than it says, one Buffer never has as much as half.
 */
function memoryOf(answer: object): ArrayBuffer[] {
  return Object.values(answer).flatMap((field: unknown) => {
    if (!ArrayBuffer.isView(field)) return [];
    const { buffer, byteLength } = field;
    const isItsOwn = buffer.byteLength > Buffer.poolSize && byteLength > buffer.byteLength / 2;
    return isItsOwn ? [buffer as ArrayBuffer] : [];
  });
}
