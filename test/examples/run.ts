import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findGrpcurl } from '../support/tools.mjs';

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, with grpcurl on its PATH where there is one. */
export function run(
  program: string,
  args: readonly string[],
  { cwd = ROOT, env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Ended> {
  const grpcurl = findGrpcurl();
  const path = [process.env['PATH'] ?? '', ...(grpcurl === undefined ? [] : [dirname(grpcurl)])];
  const options = { cwd, env: { ...process.env, ...env, PATH: path.join(':') } };
  return new Promise((resolve, reject) => {
    const child = execFile(program, [...args], options, (error, stdout, stderr) => {
      // An error without an exit code is a program that could not be started.
      if (error !== null && child.exitCode === null && child.signalCode === null) reject(error);
      else resolve({ code: child.exitCode, stdout, stderr });
    });
  });
}

/** The ids in a text, in its order. */
export function idsIn(text: string): string[] {
  return text.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? [];
}
