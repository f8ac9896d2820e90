import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../examples/run.js';

/** What commands and programs use that are run in a clone. */
const USED = ['clients', 'dist', 'native', 'node_modules', 'package.json', 'proto'];

/**
 * Makes a folder a clone in which everything is built: it has links to what is in this one, so that
 * data and programs of a test get into no real clone.
 */
export function linkClone(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of USED) symlinkSync(join(ROOT, name), join(folder, name));
}
