import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '../../config/config.js';
import { shardOfNode, type ClusterMap } from './map.js';
import { NodeFile } from './node-file.js';
import { describeMissing, enter, isFull, newMap } from './placement.js';

const SETTINGS = { CLUSTER_NAME: 'c', CLUSTER_SHARDS: '2', CLUSTER_REPLICAS: '3' };

function settingsOf(more: Record<string, string> = {}) {
  return readConfig({ ...SETTINGS, ...more });
}

function newNode(): NodeFile {
  return NodeFile.open(mkdtempSync(join(tmpdir(), 'vectord-test-')), 'c');
}

/** The map after a new node has entered for each of these settings. */
function entered(...each: readonly Record<string, string>[]): ClusterMap {
  return each.reduce<ClusterMap>(
    (map, more) => enter(map, settingsOf(more), newNode()),
    newMap(settingsOf(each[0])),
  );
}

const SIX = [{}, {}, {}, {}, {}, {}] as const;

const counts = ({ shards }: ClusterMap) => shards.map(({ nodes }) => nodes.length);

test('nodes enter the shard with the fewest, or the one that is set', () => {
  expect(counts(entered({}))).toEqual([1, 0]);
  expect(counts(entered({}, {}, {}))).toEqual([2, 1]);
  expect(counts(entered(...SIX))).toEqual([3, 3]);
  const first = { CLUSTER_SHARD: '0' };
  expect(counts(entered(first, first, first, {}, {}))).toEqual([3, 2]);
  const seven = { CLUSTER_SHARDS: '64', CLUSTER_REPLICAS: '7', CLUSTER_SHARD: '63' };
  expect(counts(entered(seven, seven)).indexOf(2)).toBe(63);
});

test('a cluster is full once each shard is', () => {
  const map = entered({}, {}, {}, {}, {});
  expect(isFull(map)).toBe(false);
  expect(describeMissing(map)).toBe('1 more of its nodes have to start (1 of shard 1)');
  expect(describeMissing(entered({}))).toBe(
    '5 more of its nodes have to start (2 of shard 0, 3 of shard 1)',
  );
  expect(describeMissing(entered({ CLUSTER_SHARDS: '1' }))).toBe(
    '2 more of its nodes have to start',
  );
  expect(isFull(enter(map, settingsOf(), newNode()))).toBe(true);
});

test('a shard that has its nodes takes no more', () => {
  const first = { CLUSTER_SHARD: '0' };
  const map = entered(first, first, first, {});
  expect(() => enter(map, settingsOf(first), newNode())).toThrow(
    `CLUSTER_SHARD is 0, but shard 0 of the cluster c has its 3 nodes, ` +
      `${map.shards[0]?.nodes.join(', ')}: unset it, or set it to a shard that lacks nodes (2 of shard 1)`,
  );
});

test('a cluster that has its nodes takes no more, and names them', () => {
  const map = entered(...SIX);
  const [first, second] = map.shards.map(({ nodes }) => nodes.join(', '));
  expect(() => enter(map, settingsOf(), newNode())).toThrow(
    /^the cluster c has its 6 nodes, and this one is none of them: .* new\./,
  );
  expect(() => enter(map, settingsOf({ CLUSTER_REPLACES: 'nobody' }), newNode())).toThrow(
    'CLUSTER_REPLACES is nobody, expected the id of a node of the cluster c, ' +
      `one of ${first} (shard 0); ${second} (shard 1)`,
  );
});

test('the id of no node in CLUSTER_REPLACES is refused, whether there is room or not', () => {
  const settings = settingsOf({ CLUSTER_REPLACES: 'nobody' });
  const expected = 'expected the id of a node of the cluster c, ';
  const map = entered({});
  expect(() => enter(map, settings, newNode())).toThrow(
    `${expected}one of ${map.shards[0]?.nodes[0]}`,
  );
  expect(() => enter(entered(), settings, newNode())).toThrow(
    `${expected}which has none yet: unset it`,
  );
});

test('a node stays in its shard, and is refused where it is set to another', () => {
  const file = newNode();
  const map = enter(entered({}), settingsOf(), file);
  expect(shardOfNode(map, file.node)).toBe(1);
  expect(enter(map, settingsOf(), file)).toBe(map);
  expect(enter(map, settingsOf({ CLUSTER_SHARD: '1' }), file)).toBe(map);
  expect(() => enter(map, settingsOf({ CLUSTER_SHARD: '0' }), file)).toThrow(
    'CLUSTER_SHARD is 0, but this node is in shard 1 of the cluster c: set it to 1, or unset it',
  );
});

test.each([
  ['DIMENSION', '5', '384'],
  ['CLUSTER_REPLICAS', '1', '3'],
  ['CLUSTER_SHARDS', '3', '2'],
])('a node with %s=%s is refused', (setting, found, expected) => {
  expect(() => enter(entered({}), settingsOf({ [setting]: found }), newNode())).toThrow(
    `${setting} is ${found}, but the cluster c was made with ${expected}: set it to ${expected}`,
  );
});

test('a node takes the place of a lost one in its shard, and needs a log', () => {
  const map = entered(...SIX);
  const lost = map.shards[1]?.nodes[1] ?? '';
  const settings = settingsOf({ CLUSTER_REPLACES: lost });
  const file = newNode();
  const { shards } = enter(map, settings, file);
  expect(shards[0]).toBe(map.shards[0]);
  expect(shards[1]?.nodes.indexOf(file.node)).toBe(1);
  expect(shards[1]?.nodes).not.toContain(lost);
  expect(file.needsLog).toBe(true);
  const other = settingsOf({ CLUSTER_REPLACES: lost, CLUSTER_SHARD: '0' });
  expect(() => enter(map, other, newNode())).toThrow(
    'CLUSTER_SHARD is 0, but the node of CLUSTER_REPLACES is in shard 1',
  );
});

test('a node takes the place of a lost one before all are there: there is no log yet', () => {
  const map = entered({}, {}, {});
  const lost = map.shards[1]?.nodes[0] ?? '';
  const file = newNode();
  const replaced = enter(map, settingsOf({ CLUSTER_REPLACES: lost }), file);
  expect(replaced.shards.map(({ nodes }) => nodes.length)).toEqual([2, 1]);
  expect(shardOfNode(replaced, file.node)).toBe(1);
  expect(file.needsLog).toBe(false);
});

test('a node that has points is no new node of any cluster', () => {
  const file = newNode();
  file.claim(Buffer.of(1));
  for (const map of [newMap(settingsOf()), entered(...SIX)]) {
    expect(() => enter(map, settingsOf(), file)).toThrow('that is not in the cluster c');
  }
});
