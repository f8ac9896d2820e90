import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Random } from '../../support/random.js';

/** Flips a bit in what is written of one of these files; answers which. */
export function flipBit(random: Random, paths: readonly string[]): string {
  const path = random.pick(paths);
  const bytes = readFileSync(path);
  const written = bytes.findLastIndex((byte) => byte !== 0) + 1;
  const at = random.below(written);
  const flipped = (bytes[at] ?? 0) ^ (1 << random.below(8));
  // Whoever writes the file meanwhile goes on with it.
  const file = openSync(path, 'r+');
  writeSync(file, Uint8Array.of(flipped), 0, 1, at);
  closeSync(file);
  return path;
}
