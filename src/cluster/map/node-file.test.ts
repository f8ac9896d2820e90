import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isStore, NodeFile } from './node-file.js';

const CLUSTER = 'several';
const STORE = Buffer.of(1, 2, 3);

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'vectord-test-'));
}

test('a node is the one that its folder names', () => {
  const folder = newFolder();
  const { node } = NodeFile.open(folder, CLUSTER);
  expect(NodeFile.open(folder, CLUSTER).node).toBe(node);
  expect(() => NodeFile.open(folder, 'other')).toThrow('expected other (CLUSTER_NAME)');
  expect(NodeFile.open(newFolder(), CLUSTER).node).not.toBe(node);
});

test('the first store that is claimed is the replica', () => {
  const folder = newFolder();
  const file = NodeFile.open(folder, CLUSTER);
  file.check(folder, Buffer.of(7));
  expect(file.hasStore).toBe(false);
  file.claim(STORE);
  file.claim(Buffer.of(7));
  const again = NodeFile.open(folder, CLUSTER);
  again.check(folder, STORE);
  expect(() => again.check(folder, Buffer.of(7))).toThrow("is not the one of this node's replica");
});

test('a log that is lost raises the number of this replica once, until there is another', () => {
  const folder = newFolder();
  const file = NodeFile.open(folder, CLUSTER);
  file.claim(STORE);
  file.raise(1, 4);
  file.loseLog(2);
  NodeFile.open(folder, CLUSTER).loseLog(2);
  const lost = NodeFile.open(folder, CLUSTER);
  expect([lost.needsLog, lost.incarnations]).toEqual([true, [0, 4, 1]]);
  lost.findLog(Buffer.of(9));
  const found = NodeFile.open(folder, CLUSTER);
  expect([found.needsLog, found.incarnations]).toEqual([false, [0, 4, 1]]);
  found.check(folder, Buffer.of(9));
  found.loseLog(2);
  expect(found.incarnations).toEqual([0, 4, 2]);
});

test('what others tell of lost logs is never lowered', () => {
  const file = NodeFile.open(newFolder(), CLUSTER);
  file.raise(0, 3);
  file.raise(0, 2);
  expect(file.incarnations).toEqual([3]);
});

test('a node that takes the place of a lost one needs a log, and its number is not known', () => {
  const folder = newFolder();
  const { node } = NodeFile.open(folder, CLUSTER);
  NodeFile.open(folder, CLUSTER).needLog();
  const file = NodeFile.open(folder, CLUSTER);
  expect([file.node, file.needsLog, file.incarnations]).toEqual([node, true, []]);
});

test('points of which the system does not tell are not taken for lost', () => {
  const folder = newFolder();
  expect(isStore(folder)).toBe(false);
  symlinkSync('MANIFEST', join(folder, 'MANIFEST'));
  expect(() => isStore(folder)).toThrow(/cannot be told: ELOOP.*\nthe service runs as user/);
});

test('a file that is damaged, and points of a single server, are refused', () => {
  const damaged = newFolder();
  writeFileSync(join(damaged, 'node.json'), '{}');
  expect(() => NodeFile.open(damaged, CLUSTER)).toThrow('cannot be read: it names no cluster');
  const single = newFolder();
  writeFileSync(join(single, 'MANIFEST'), '');
  expect(() => NodeFile.open(single, CLUSTER)).toThrow('holds the points of a single server');
  expect(() => readFileSync(join(single, 'node.json'))).toThrow('ENOENT');
});
