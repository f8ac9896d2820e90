import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { makeTemporaryFolder } from '../support/folders.js';
import { runCommand, type Ended } from './command.js';
import { copyOf, FOLDERS } from './released/folders.js';
import { pointsOfReleases } from './released/points.js';

/** A file whose version is one that this vectord does not know. */
interface Newer {
  readonly file: string;
  readonly version: number;
  /** Where its checksum is. */
  readonly crcAt: (size: number) => number;
}

const MANIFEST: Newer = { file: 'MANIFEST', version: 3, crcAt: (size) => size - 4 };
const SEGMENT: Newer = { file: '00000001.log', version: 3, crcAt: () => 4092 };
const SNAPSHOT: Newer = { file: '00000001.snapshot', version: 2, crcAt: () => 60 };

/** What a command writes into. */
function fresh(): string {
  return join(makeTemporaryFolder(), 'fresh');
}

describe.each([MANIFEST, SEGMENT, SNAPSHOT])('a $file of version $version', (newer) => {
  const commands = [['serve'], ['check'], ['backup', fresh()]];

  test.each(commands)('is refused by %s, which changes nothing', async (...args) => {
    const dataPath = folderWith(newer);
    const before = contentOf(dataPath);
    expectRefused(await runCommand(dataPath, ...args), newer);
    expect(contentOf(dataPath)).toEqual(before);
  });

  test('is not restored', async () => {
    const dataPath = fresh();
    expectRefused(await runCommand(dataPath, 'restore', folderWith(newer)), newer);
    expect(contentOf(dataPath)).toEqual({});
  });
});

test.each([MANIFEST, SEGMENT])('a $file of version $version is not repaired', async (newer) => {
  const dataPath = folderWith(newer);
  const before = contentOf(dataPath);
  expectRefused(await runCommand(dataPath, 'repair', dataPath, '--into', fresh()), newer);
  expect(contentOf(dataPath)).toEqual(before);
});

test('a repair saves all points without a look at a snapshot of a newer version', async () => {
  const dataPath = folderWith(SNAPSHOT);
  const { code, stdout } = await runCommand(dataPath, 'repair', dataPath, '--into', fresh());
  expect(stdout).toContain(`${pointsOfReleases().size} points saved`);
  expect(code).toBe(0);
});

/** A data folder in which this file is of a later version, and sound. */
function folderWith({ file, version, crcAt }: Newer): string {
  const folder = copyOf(join(FOLDERS, 'server'));
  const path = join(folder, file);
  const bytes = readFileSync(path);
  const end = crcAt(bytes.length);
  expect(bytes.readUInt32LE(end)).toBe(crc32(bytes.subarray(0, end)));
  bytes.writeUInt32LE(version, 8);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, end)), end);
  writeFileSync(path, bytes);
  return folder;
}

/** With a message that names the file, or the copy that a backup has made of it. */
function expectRefused({ code, stdout, stderr }: Ended, { file, version }: Newer): void {
  const output = stdout + stderr;
  expect(output).toContain(`/${file} has format version ${version} at byte 8, but this vectord`);
  expect(output).toContain('use the vectord that wrote the folder or a newer one');
  expect(code).toBe(1);
}

/** The files but the lock, and what is in them. */
function contentOf(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => name !== 'LOCK');
  return Object.fromEntries(
    names.map((name) => [name, readFileSync(join(folder, name)).toString('base64')]),
  );
}
