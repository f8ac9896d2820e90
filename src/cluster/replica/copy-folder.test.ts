import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeTemporaryFolder } from '../../../test/support/folders.js';
import { createLogger } from '../../observe/logger.js';
import { CopyFolder } from './copy-folder.js';

const SILENT = createLogger('silent');

test('folders of copies are removed, and none of others, also if they are empty', () => {
  const folder = makeTemporaryFolder();
  const prefix = join(folder, 'copy-');
  mkdirSync(CopyFolder.make(prefix, SILENT).replica);
  // Its marker was not written any more.
  const begun = join(folder, 'copy-begun');
  mkdirSync(begun);
  writeFileSync(join(begun, 'MADE-BY-VECTORD'), '');
  for (const name of ['copy-backup-2026', 'copy-of-mine/part']) {
    mkdirSync(join(folder, name), { recursive: true });
  }
  CopyFolder.removeAll(prefix, SILENT);
  expect(readdirSync(folder).toSorted()).toEqual(['copy-backup-2026', 'copy-of-mine']);
});
