// The thread that reads large requests, see decoder-thread.ts: it answers each task.
import { parentPort, workerData } from 'node:worker_threads';
import { VectordError } from '../core/errors.js';
import type { Rules } from '../core/rules.js';
import { messageOf } from '../core/start-error.js';
import type { Outcome } from './decoder-thread.js';
import type { Task } from './decoder.js';
import { ANY_FIELDS } from './parse-budget.js';
import { PARSERS } from './parsers.js';
import { memoryOf } from './transfer.js';

const rules = workerData as Rules;

parentPort?.on('message', (task: Task) => {
  const outcome = carryOut(task);
  parentPort?.postMessage(outcome, 'answer' in outcome ? memoryOf(outcome.answer) : []);
});

function carryOut({ name, bytes }: Task): Outcome {
  try {
    return { answer: PARSERS[name](bytes, rules, ANY_FIELDS) };
  } catch (error) {
    const code = error instanceof VectordError ? error.code : 'INTERNAL';
    return { code, message: messageOf(error) };
  }
}
