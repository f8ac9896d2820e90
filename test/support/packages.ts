import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { makeTemporaryFolder } from './folders.js';

const PACK = fileURLToPath(new URL('../../scripts/pack.mjs', import.meta.url));

/** A folder with the packages as they are published: those that VECTORD_PACKAGES names, else fresh ones. */
export function packagesFolder(): string {
  const given = process.env['VECTORD_PACKAGES'];
  if (given !== undefined) return given;
  const target = makeTemporaryFolder();
  execFileSync(process.execPath, [PACK, target], { stdio: 'pipe' });
  return target;
}
