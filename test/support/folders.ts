import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders = new Set<string>();

process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
// Vitest ends its workers with a signal, which alone would pass over what is done at an exit.
process.once('SIGTERM', () => process.exit());

/** A folder that is gone once the tests are. */
export function makeTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'vectord-test-'));
  folders.add(folder);
  return folder;
}

export function writeKeys(path: string, ...keys: { role: string; key: string }[]): void {
  const entries = keys.map(({ role, key }, index) => ({ name: `key ${index}`, role, key }));
  writeFileSync(path, JSON.stringify({ keys: entries }), { mode: 0o600 });
}
