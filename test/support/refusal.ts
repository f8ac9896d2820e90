import { expect } from 'vitest';
import type { Vectord } from './vectord.js';

/**
 * The process ends with this code and says all of these parts on its error output, in plain words;
 * answers all that it said there.
 */
export async function expectRefusal(
  vectord: Vectord,
  code: number,
  ...parts: readonly string[]
): Promise<string> {
  expect(await vectord.exit, vectord.stderr).toEqual({ code, signal: null });
  for (const part of parts) expect(vectord.stderr).toContain(part);
  expect(vectord.stdout).toBe('');
  expectNoTrace(vectord);
  return vectord.stderr;
}

export function expectNoTrace({ stderr }: Vectord): void {
  expect(stderr).not.toMatch(/^\s+at |"level":"fatal"/m);
}
