import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeTemporaryFolder } from '../support/folders.js';

/** The protocols as clients may have them; a file changes only where the protocol grows. */
const RELEASED = 'test/released';

function buf(...args: string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync('node_modules/.bin/buf', args, { encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

test('both protocols serve the clients that there are', () => {
  expect(buf('breaking', '--against', RELEASED)).toEqual({ status: 0, output: '' });
});

test.each([
  ['vectord/v1/points.proto', 'bool exact = 6;', 'bool exact = 16;', 'exact'],
  ['vectord/v1/points.proto', 'ORDER_NEWEST = 2', 'ORDER_LATEST = 2', 'ORDER_NEWEST'],
  ['vectordb/vectordb.proto', 'rpc DeletePoint', 'rpc RemovePoint', 'DeletePoint'],
])('a change of %s from %j to %j is noticed', (file, from, to, name) => {
  const folder = makeTemporaryFolder();
  cpSync('proto', join(folder, 'proto'), { recursive: true });
  cpSync('buf.yaml', join(folder, 'buf.yaml'));
  const path = join(folder, 'proto', file);
  const text = readFileSync(path, 'utf8');
  expect(text).toContain(from);
  writeFileSync(path, text.replace(from, to));
  const { status, output } = buf('breaking', folder, '--against', RELEASED);
  expect(status).not.toBe(0);
  expect(output).toContain(name);
});
