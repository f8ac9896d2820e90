import { Vectord } from '../support/vectord.js';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command of vectord on a data folder to its end. */
export async function runCommand(dataPath: string, ...args: string[]): Promise<Ended> {
  const vectord = new Vectord({ DATA_PATH: dataPath }, args);
  const { code } = await vectord.exit;
  return { code, stdout: vectord.stdout, stderr: vectord.stderr };
}
