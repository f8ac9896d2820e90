import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeTemporaryFolder } from '../../../test/support/folders.js';
import { changeOf, openEngine, SILENT } from '../../../test/support/replicas.js';
import { SeedAnswer, SeedQuestion } from '../../gen/vectord/cluster/v1/cluster.js';
import { createLogger } from '../../observe/logger.js';
import { SeedSource } from './seed-source.js';

test('a start removes the copies that an earlier process has left, and nothing of others', () => {
  const dataPath = makeTemporaryFolder();
  const [own, torn, folder, copied, file] = [
    'copy-Hx4vQ1',
    'copy-0Zk3aB',
    'copy-of-the-photos',
    'copy-1f3c1d52-6f0e-4c8e-9a51-0a4f5f1f6f0b',
    'copy-of-a-letter',
  ].map((name) => join(dataPath, name)) as [string, string, string, string, string];
  for (const made of [own, folder, copied]) mkdirSync(join(made, 'replica'), { recursive: true });
  const marker = 'A copy of the points of a node of the cluster. vectord removes it.\n';
  writeFileSync(join(own, 'MADE-BY-VECTORD'), marker);
  // A power cut may leave as much of one that was just made.
  mkdirSync(torn);
  writeFileSync(join(torn, 'MADE-BY-VECTORD'), '');
  writeFileSync(join(folder, 'MADE-BY-VECTORD'), 'not quite');
  writeFileSync(file, marker);
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line: string) => void lines.push(line) });
  const source = new SeedSource(dataPath, join(dataPath, 'shard-0'), () => 1, logger);
  onTestFinished(() => source.close());
  expect([own, torn].map(existsSync)).toEqual([false, false]);
  expect([folder, copied, file].map(existsSync)).toEqual([true, true, true]);
  for (const kept of [folder, copied, file]) expect(lines.join('')).toContain(kept);
});

test('a copy is made, and removed, beside a folder of another that has its name', async () => {
  const [dataPath, folder] = [makeTemporaryFolder(), makeTemporaryFolder()];
  const engine = await openEngine(folder);
  await engine.apply(changeOf(engine, 1, 'x'), 1);
  const copy = '1f3c1d52-6f0e-4c8e-9a51-0a4f5f1f6f0b';
  const others = join(dataPath, `copy-${copy}`);
  mkdirSync(join(others, 'of mine'), { recursive: true });
  const source = new SeedSource(dataPath, folder, () => 1, SILENT);
  onTestFinished(() => source.close());
  const ask = async (isOver: boolean): Promise<SeedAnswer> => {
    const question = SeedQuestion.encode({ copy, piece: undefined, isOver }).finish();
    return SeedAnswer.decode(await source.answer(question));
  };
  await expect.poll(async () => (await ask(false)).files).not.toEqual([]);
  expect(readdirSync(dataPath)).toHaveLength(2);
  await ask(true);
  expect(readdirSync(dataPath)).toEqual([`copy-${copy}`]);
  expect(readdirSync(others)).toEqual(['of mine']);
});
