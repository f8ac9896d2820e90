import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeTemporaryFolder } from '../../../test/support/folders.js';
import { createLogger } from '../../observe/logger.js';
import { SeedSource } from './seed-source.js';

test('a start removes the copies that an earlier process has left, and nothing of others', () => {
  const dataPath = makeTemporaryFolder();
  const [own, folder, copied, file] = [
    'copy-0b6c8f0e-6f0e-4c8e-9a51-0a4f5f1f6f0b',
    'copy-of-the-photos',
    'copy-1f3c1d52-6f0e-4c8e-9a51-0a4f5f1f6f0b',
    'copy-of-a-letter',
  ].map((name) => join(dataPath, name)) as [string, string, string, string];
  for (const made of [own, folder, copied]) mkdirSync(join(made, 'replica'), { recursive: true });
  const marker = 'A copy for another node of the cluster. The next start removes it.\n';
  writeFileSync(join(own, 'MADE-BY-VECTORD'), marker);
  writeFileSync(join(folder, 'MADE-BY-VECTORD'), 'not quite');
  writeFileSync(file, marker);
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line: string) => void lines.push(line) });
  const source = new SeedSource(dataPath, join(dataPath, 'shard-0'), () => 1, logger);
  onTestFinished(() => source.close());
  expect([own, folder, copied, file].map(existsSync)).toEqual([false, true, true, true]);
  for (const kept of [folder, copied, file]) expect(lines.join('')).toContain(kept);
});
