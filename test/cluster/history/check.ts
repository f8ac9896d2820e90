import { execFile } from 'node:child_process';
import { findPorcupine } from '../../support/tools.mjs';

const MOST_OUTPUT_BYTES = 2 ** 24;

/** What the program of test/cluster/porcupine says of a history. */
export interface Verdict {
  readonly isLinearizable: boolean;
  /** Of a history that is not, what contradicts itself. */
  readonly report: string;
}

export async function check(path: string): Promise<Verdict> {
  const program = findPorcupine();
  if (program === undefined)
    throw new Error('node test/support/install.mjs has not built the checker');
  return await new Promise((resolve) => {
    execFile(program, [path], { maxBuffer: MOST_OUTPUT_BYTES }, (error, stdout, stderr) => {
      resolve({ isLinearizable: error === null, report: stdout + stderr });
    });
  });
}
