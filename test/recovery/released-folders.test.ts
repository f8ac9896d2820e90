import { createHash } from 'node:crypto';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Filter, NewPoint, Part } from '../../src/client/model.js';
import { connect } from '../../src/client/node.js';
import { NodeFile } from '../../src/cluster/map/node-file.js';
import { all, expectFailure, open, PROTOCOLS } from '../client/open.js';
import { HAS_NO_NATS } from '../support/cluster.js';
import { passes } from '../support/filter-model.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { startServer, type TestServer } from '../support/server.js';
import { Vectord } from '../support/vectord.js';
import { runCommand } from './command.js';
import { copyOf, FOLDERS } from './released/folders.js';
import { DIMENSION, pointsOfReleases, pointsOfSamples, type Points } from './released/points.js';
import { writeNode, writeServer } from './released/write.js';

const SAMPLES = 'crates/engine/tests/samples';

/** What a folder is an example of. */
interface Form {
  readonly path: string;
  readonly points: Points;
  /** In version 2 of the samples metadata are no JSON, so that they are not read. */
  readonly parts: readonly Part[];
  readonly hasColumns: boolean;
  /** The settings of its graph. */
  readonly env: Readonly<Record<string, string>>;
}

const PARTS = ['vector', 'content', 'contentType', 'metadata'] as const;
const OF_SAMPLES = {
  points: pointsOfSamples(),
  hasColumns: false,
  env: { HNSW_M: '4', HNSW_EF_CONSTRUCTION: '20' },
};
const V1: Form = { path: join(SAMPLES, 'v1'), parts: PARTS, ...OF_SAMPLES };
const V2: Form = { path: join(SAMPLES, 'v2'), parts: PARTS.slice(0, 3), ...OF_SAMPLES };
const OF_RELEASES = { points: pointsOfReleases(), parts: PARTS, hasColumns: true, env: {} };
const SERVER: Form = { path: join(FOLDERS, 'server'), ...OF_RELEASES };
const REPLICA: Form = { path: join(FOLDERS, 'node/shard-0'), ...OF_RELEASES };

const FILTERS: readonly Filter[] = [
  { year: { $gte: 2000, $lt: 2010 } },
  { kind: 'größe', even: true },
  { tags: { $nin: ['a', 'b'] } },
  { score: { $lte: 5 }, $content_type: 'Image' },
];

describe.each([
  ['segments of version 1', V1],
  ['segments of version 2, and a snapshot without columns', V2],
  ['a snapshot with columns', SERVER],
])('a folder with %s', (_, form) => {
  test('is served with all that is in it, and goes on from there', async () => {
    const dataPath = copyOf(form.path);
    await expectSound(dataPath);
    const server = await serve(dataPath, form);
    await expectPoints(server, form, form.points);
    const { graphs, filterIndex } = await open(server, 'grpc').info();
    // They come of the snapshot, as nobody has searched under the one or filtered by the others.
    expect(graphs.map(({ similarity }) => similarity)).toEqual(['Cosine']);
    expect(filterIndex.length > 0).toBe(form.hasColumns);
    const changed = await change(server, form.points);
    expect(await server.stop()).toBe(0);

    const again = await serve(dataPath, form);
    await expectPoints(again, form, changed);
    expect(await again.stop()).toBe(0);
    await expectRestored(await backUp(dataPath), form, changed);
  });

  test('is a backup that is restored with all that is in it', async () => {
    await expectRestored(form.path, form, form.points);
  });
});

describe('the folder of a node of a cluster', () => {
  test('has a backup that a single server is restored from', async () => {
    const dataPath = copyOf(REPLICA.path);
    await expectSound(dataPath);
    await expectRestored(await backUp(dataPath), REPLICA, REPLICA.points);
    await expectRestored(REPLICA.path, REPLICA, REPLICA.points);
  });

  test('may be read by a single server, but not written', async () => {
    const server = await serve(copyOf(REPLICA.path), REPLICA);
    await expectPoints(server, REPLICA, REPLICA.points);
    const write = open(server, 'grpc').upsert([newPoint()]);
    await expectFailure(write, 'INVALID_ARGUMENT', /its writes come from the stream/);
  });

  test('tells which node it is', () => {
    const folder = copyOf(join(FOLDERS, 'node'));
    const file = NodeFile.open(folder, 'vectord');
    expect(file.node).toMatch(/^[0-9a-f-]{36}$/);
    expect([file.hasStore, file.needsLog, file.incarnations]).toEqual([true, false, []]);
  });
});

test('a keys file with keys and with hashes of keys is read', async () => {
  const dataPath = copyOf(SERVER.path);
  const sha256 = createHash('sha256').update('the-key-of-the-shop').digest('hex');
  const keys = [
    { name: 'readwrite', role: 'readwrite', key: 'the-key-of-a-first-start' },
    { name: 'shop', role: 'readonly', sha256 },
  ];
  writeFileSync(join(dataPath, 'keys.json'), JSON.stringify({ keys }), { mode: 0o600 });
  writeFileSync(join(dataPath, 'keys.json.made'), '');
  const server = await Vectord.start({ DATA_PATH: dataPath });
  for (const key of ['the-key-of-a-first-start', 'the-key-of-the-shop']) {
    expect(await connect(server.value('HTTP'), { key }).count()).toBe(SERVER.points.size);
  }
  expect(await server.stop()).toEqual({ code: 0, signal: null });
});

test('no folder takes much room in the repository', () => {
  for (const { path } of [V1, V2, SERVER, REPLICA]) {
    const sizes = readdirSync(path).map((name) => statSync(join(path, name)).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(100_000);
  }
});

const TARGET = process.env['VECTORD_RELEASED_FOLDERS'];

test.skipIf(TARGET === undefined || HAS_NO_NATS)(
  'writes the folders of the present version, into the one that VECTORD_RELEASED_FOLDERS names',
  async () => {
    expect(readdirSync(TARGET ?? '')).toEqual([]);
    await writeServer(join(TARGET ?? '', 'server'));
    await writeNode(join(TARGET ?? '', 'node'));
  },
);

async function serve(dataPath: string, { env }: Form): Promise<TestServer> {
  return await startServer({ dataPath, dimension: DIMENSION, env });
}

async function expectSound(folder: string): Promise<void> {
  const { code, stdout } = await runCommand(folder, 'check');
  expect(stdout).toMatch(/^no damage$/m);
  expect(code).toBe(0);
}

/** Answers the folder of the backup. */
async function backUp(dataPath: string): Promise<string> {
  const backup = join(makeTemporaryFolder(), 'backup');
  const { code, stderr } = await runCommand(dataPath, 'backup', backup);
  expect(code, stderr).toBe(0);
  await expectSound(backup);
  return backup;
}

async function expectRestored(backup: string, form: Form, points: Points): Promise<void> {
  const dataPath = join(makeTemporaryFolder(), 'data');
  const { code, stderr } = await runCommand(dataPath, 'restore', backup);
  expect(code, stderr).toBe(0);
  const server = await serve(dataPath, form);
  await expectPoints(server, form, points);
  await change(server, points);
  expect(await server.stop()).toBe(0);
}

/** Points, vectors, contents and metadata, and what searches and filters find, over both protocols. */
async function expectPoints(
  server: TestServer,
  { parts, hasColumns }: Form,
  points: Points,
): Promise<void> {
  const expected = [...points].map(([id, { metadata = null, ...rest }]) => [
    id,
    parts.includes('metadata') ? { ...rest, metadata } : rest,
  ]);
  for (const protocol of PROTOCOLS) {
    const client = open(server, protocol);
    const found = (await all(client.scroll({ include: parts }))).map(({ id, ...rest }) => {
      const { vector = [], ...payload } = rest;
      return [id, { ...payload, vector: [...vector] }];
    });
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
    expect(found).toHaveLength(points.size);
    for (const [id, { vector }] of [...points].filter((_, at) => at % 10 === 0)) {
      for (const exact of [true, false]) {
        const query = { vector, similarity: 'Cosine', limit: points.size, exact } as const;
        const near = await client.search({ ...query, include: ['distance'] });
        expect(near).toHaveLength(points.size);
        expect(near.find((one) => one.id === id)?.distance).toBeCloseTo(0, 6);
        expect(near[0]?.distance).toBeCloseTo(0, 6);
      }
    }
    for (const filter of hasColumns ? FILTERS : []) {
      const passing = [...points].filter(([id, one]) => passes(filter, { id, ...one }));
      expect(await client.count({ filter })).toBe(passing.length);
    }
  }
}

/** Stores, replaces and deletes a point, and answers what is there then. */
async function change(server: TestServer, points: Points): Promise<Points> {
  const client = open(server, 'http');
  const [, replaced = '', deleted = ''] = points.keys();
  const added = newPoint();
  await client.upsert([added, { ...added, id: replaced }]);
  expect((await client.delete([deleted])).deleted).toBe(1);
  const changed = new Map(points);
  const { id, ...rest } = added;
  changed.set(id, rest).set(replaced, rest).delete(deleted);
  return changed;
}

function newPoint() {
  const vector = Array.from({ length: DIMENSION }, (_, at) => at - 0.5);
  return {
    id: '6f0d3c3e-6f6c-4a53-8a3c-0f5b9a1f3f11',
    vector,
    content: 'new',
    contentType: 'Text',
    metadata: null,
  } as const satisfies NewPoint;
}
