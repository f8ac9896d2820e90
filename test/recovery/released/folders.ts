import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { makeTemporaryFolder } from '../../support/folders.js';

/** Data folders as releases have written them: none is ever written again. */
export const FOLDERS = 'test/released/folders/0.1';

/** Where a copy is that a test may change. */
export function copyOf(path: string): string {
  const folder = join(makeTemporaryFolder(), 'data');
  cpSync(path, folder, { recursive: true });
  return folder;
}
