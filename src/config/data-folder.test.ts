import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { copyOnWriteWarning, fileSystemWarning } from './data-folder.js';

test.each([
  ['btrfs', 0x9123683e],
  // As a processor says it whose numbers have 32 bits.
  ['btrfs', 0x9123683e | 0],
  ['ZFS', 0x2fc12fc1],
  ['bcachefs', 0xca451a4e],
])('a data folder on %s is warned about', (name, fileSystem) => {
  const warning = copyOnWriteWarning('/data', fileSystem);
  expect(warning).toContain(`the data folder /data is on ${name}`);
  expect(warning).toContain('Keep some space free');
});

test.each([
  ['ext4', 0xef53],
  ['XFS', 0x58465342],
  ['tmpfs', 0x01021994],
])('one on %s is not', (_, fileSystem) => {
  expect(copyOnWriteWarning('/data', fileSystem)).toBeUndefined();
});

test('a folder is judged by its own file system', () => {
  const expected =
    process.platform === 'linux'
      ? copyOnWriteWarning(tmpdir(), statfsSync(tmpdir()).type)
      : undefined;
  expect(fileSystemWarning(tmpdir())).toBe(expected);
});
