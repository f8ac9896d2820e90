// The thread that reads large requests, see decoder.ts: it answers each task.
import { parentPort, workerData } from 'node:worker_threads';
import { VectordError } from '../core/errors.js';
import type { Rules } from '../core/rules.js';
import { messageOf } from '../core/start-error.js';
import type { Outcome, Task } from './decoder.js';
import { ANY_FIELDS } from './parse-budget.js';
import { JOBS } from './parsers.js';

const rules = workerData as Rules;

parentPort?.on('message', (task: Task) => {
  const outcome = carryOut(task);
  parentPort?.postMessage(outcome, 'answer' in outcome ? memoryOf(outcome.answer) : []);
});

function carryOut({ name, bytes }: Task): Outcome {
  try {
    return { answer: JOBS[name](bytes, rules, ANY_FIELDS) };
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
