import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Client, NewPoint, Query } from '../../src/client/node.js';
import { open, type EmbeddedClient, type OpenOptions } from '../../src/embedded/open.js';
import { all, expectFailure, id, open as openClient, UNKNOWN } from '../client/open.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { startServer } from '../support/server.js';

const MODULE = pathToFileURL('dist/embedded/open.js').href;

/** Points in two halves, every third of them without metadata. */
const POINTS: NewPoint[] = Array.from({ length: 300 }, (_, at) => ({
  id: id(at + 1),
  vector: [Math.sin(at), Math.cos(at), at % 7, -0],
  content: `é ${at}`,
  contentType: at % 5 === 0 ? 'Image' : 'Text',
  metadata: at % 3 === 0 ? null : { half: at % 2, list: ['a', String(at)] },
}));

const QUERY: Query = { vector: [0.1, 0.2, 3, 0], similarity: 'Cosine', limit: 5 };

async function opened(options: OpenOptions = {}): Promise<EmbeddedClient> {
  const client = await open({ dimension: 4, ...options });
  onTestFinished(async () => await client.close());
  return client;
}

describe('answers as a service does', () => {
  let service: Client;
  let embedded: EmbeddedClient;

  beforeAll(async () => {
    service = openClient(await startServer(), 'grpc');
  });

  beforeEach(async () => {
    embedded = await opened();
    await service.deleteAll(await service.count());
    await both((client) => client.upsert(POINTS));
  });

  /** Makes a call of both, which have to answer or fail alike, and returns the answer. */
  async function both<Answer>(call: (client: Omit<Client, 'close'>) => Promise<Answer>) {
    const outcomes = await Promise.all([outcomeOf(call(service)), outcomeOf(call(embedded))]);
    expect(outcomes[1]).toEqual(outcomes[0]);
    return outcomes[1].answer;
  }

  test('to searches', async () => {
    const include = ['distance', 'vector', 'content', 'contentType', 'metadata'] as const;
    const found = await both((client) => client.search({ ...QUERY, include }));
    expect(found).toHaveLength(5);
    await both((client) => client.search({ ...QUERY, similarity: 'Hamming', exact: true }));
    await both((client) => client.search({ ...QUERY, filter: { half: 1 }, include: [] }));
    await both((client) => client.search({ ...QUERY, maxDistance: 0.01 }));
    const like = { like: id(7), similarity: 'Euclidean', limit: 3 } as const;
    await both((client) => client.searchAll([QUERY, like, { ...QUERY, limit: 1_000 }]));
  });

  test('to gets, counts, pages and scrolls', async () => {
    await both((client) => client.get([id(2), UNKNOWN, id(1)], { include: ['vector'] }));
    await both((client) => client.count());
    expect(await both((client) => client.count({ filter: { list: '4' } }))).toBe(1);
    // What comes next is named by a token of the store.
    const page = async (client: Omit<Client, 'close'>) =>
      (await client.scrollPage({ limit: 299, include: [] })).points;
    expect(await both(page)).toHaveLength(299);
    await both((client) => all(client.scroll({ order: 'newest', filter: { half: 0 } })));
  });

  test('to updates and deletes', async () => {
    const update = { id: id(1), content: 'new', metadata: { half: 2 } };
    await both((client) => client.update([update, { id: UNKNOWN, metadata: null }]));
    await both((client) => client.delete([id(2), UNKNOWN, id(2)]));
    await both((client) => client.deleteMatching({ half: 1 }));
    await both((client) => client.deleteAll(1));
    const left = await both((client) => all(client.scroll()));
    expect(left?.at(-1)).toMatchObject({ id: id(1), content: 'new', metadata: { half: 2 } });
  });

  test('to what is wrong', async () => {
    await both((client) => client.search({ ...QUERY, vector: [1] }));
    await both((client) => client.search({ ...QUERY, vector: undefined, like: UNKNOWN }));
    await both((client) => client.search({ ...QUERY, filter: { half: { $gt: true } } as never }));
    await both((client) => client.upsert([{ vector: [1, 2, 3, Infinity] }]));
    await both((client) => client.upsert([{ vector: [1, 2, 3, 4] }, { vector: [1, 2] }]));
    await both((client) => client.scrollPage({ limit: 1, after: 'no token' }));
    expect(await both((client) => client.count())).toBe(POINTS.length);
  });
});

interface Outcome<Answer> {
  readonly answer?: Answer;
  readonly failure?: { readonly code: unknown; readonly message: string };
}

async function outcomeOf<Answer>(call: Promise<Answer>): Promise<Outcome<Answer>> {
  try {
    return { answer: await call };
  } catch (error) {
    const { code, message } = error as Error & { readonly code: unknown };
    return { failure: { code, message } };
  }
}

test('what was written is there when the folder is opened again', async () => {
  const path = makeTemporaryFolder();
  const first = await open({ path, dimension: 4 });
  await first.bulk(POINTS, { batchBytes: 1_000 });
  await first.close();
  const second = await opened({ path, dimension: undefined });
  expect(await second.info()).toMatchObject({ dimension: 4, points: POINTS.length });
});

test('more points than a page holds come in their order', async () => {
  const client = await opened();
  const points = Array.from({ length: 2_500 }, (_, at) => ({ id: id(at), vector: [at, 1, 0, 0] }));
  await client.bulk(points.slice(1));
  const ids = (await all(client.scroll({ include: ['content'] }))).map((point) => point.id);
  expect(ids).toEqual(points.slice(1).map((point) => point.id));
});

test('a folder that another process has open is not available, and stays as it is', async () => {
  const path = makeTemporaryFolder();
  const first = await opened({ path });
  const script = `
    const { open } = await import('${MODULE}');
    await open({ path: ${JSON.stringify(path)} }).catch(({ code, message }) => console.log(code, message));`;
  const { stdout } = run(script);
  expect(stdout).toBe(
    `UNAVAILABLE ${path}/LOCK is in use by another process (pid ${process.pid})\n`,
  );
  expect(await first.count()).toBe(0);
});

test('a folder that this process has open is not available until it is closed', async () => {
  const path = makeTemporaryFolder();
  const link = `${path}.link`;
  symlinkSync(path, link);
  onTestFinished(() => rmSync(link));
  const outcomes = await Promise.allSettled([open({ path }), open({ path: link })]);
  const [first, second] = outcomes.map(({ status }) => status);
  expect([first, second]).toEqual(['fulfilled', 'rejected']);
  const message = new RegExp(`^this process has the folder ${path} \\(path\\) open already: close`);
  await expectFailure(open({ path }), 'UNAVAILABLE', message);
  for (const outcome of outcomes) if (outcome.status === 'fulfilled') await outcome.value.close();
  expect(await (await opened({ path: link })).count()).toBe(0);
});

test.each<[object, RegExp]>([
  [{ dimension: 0 }, /^dimension is 0, expected an integer from 1 to 65536$/],
  [{ hnswEf: 1.5 }, /^hnswEf is 1\.5, expected/],
  [{ warmMetrics: ['cos'] }, /^warmMetrics is \["cos"\], expected/],
  [{ path: '' }, /^path is "", expected the path of a folder$/],
  [{ path: 'package.json' }, /package\.json \(path\) .* it is a file, expected a folder$/],
  [{ ef: 10 }, /^ef is no option, expected one of path, dimension, /],
  [{ deadlineMs: -1 }, /^deadlineMs is -1, expected/],
])('the options %j are refused', async (options, message) => {
  await expectFailure(open(options), 'INVALID_ARGUMENT', message);
});

test('another dimension than that of the folder is refused', async () => {
  const path = makeTemporaryFolder();
  const first = await open({ path, dimension: 4 });
  await first.upsert(POINTS);
  await first.close();
  const message =
    /^the first point stored in .* had 4 dimensions, .* but dimension is 8: leave it out, or give another path$/;
  await expectFailure(open({ path, dimension: 8 }), 'INVALID_ARGUMENT', message);
});

test('a folder that belongs to something else is refused', async () => {
  const path = makeTemporaryFolder();
  writeFileSync(join(path, 'notes.txt'), '');
  const message = /notes\.txt, which is not of vectord: it needs a folder of its own$/;
  await expectFailure(open({ path }), 'INVALID_ARGUMENT', message);
});

test('a refused option leaves the folder to others', async () => {
  const path = makeTemporaryFolder();
  await expectFailure(open({ path, retries: { attempts: 0 } }), 'INVALID_ARGUMENT', /attempts/);
  expect(await (await opened({ path })).count()).toBe(0);
});

test('options bound requests as settings of the service do', async () => {
  const client = await opened({ maxRequestBytes: 1_000, maxBatch: 3, warmMetrics: ['Cosine'] });
  await expectFailure(client.upsert(POINTS.slice(0, 4)), 'TOO_LARGE', /MAX_BATCH/);
  const long = { vector: [1, 2, 3, 4], content: 'x'.repeat(1_000) };
  await expectFailure(client.upsert([long]), 'TOO_LARGE', /MAX_REQUEST_BYTES/);
  expect(await client.info()).toMatchObject({ points: 0, limits: { maxBatch: 3 } });
});

test('a call can be given up, and a closed client takes none', async () => {
  const client = await opened();
  await client.upsert(POINTS);
  const signal = AbortSignal.abort();
  await expectFailure(client.searchAll([QUERY], { signal }), 'CANCELLED', /./);
  await client.close();
  await client.close();
  await expectFailure(client.count(), 'CANCELLED', /closed/);
});

test('a temporary folder is removed when its client is closed, and when the process exits', async () => {
  const script = `
    const { open } = await import('${MODULE}');
    const closed = await open({ dimension: 2 });
    await closed.close();
    const left = await open({ dimension: 2 });
    await left.upsert([{ vector: [1, 2] }]);
    console.log(await left.count());`;
  const folder = makeTemporaryFolder();
  const { status, stdout, stderr } = run(script, { TMPDIR: folder });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '1\n', stderr: '' });
  expect(readdirSync(folder)).toEqual([]);
});

test('many clients can be open at one time, each with its own points', async () => {
  const clients = await Promise.all(Array.from({ length: 12 }, async () => await opened()));
  await Promise.all(clients.map((client, at) => client.upsert(POINTS.slice(0, at))));
  const counts = await Promise.all(clients.map((client) => client.count()));
  expect(counts).toEqual(clients.map((_, at) => at));
  expect(existsSync('data')).toBe(false);
});

/** Runs a program in a process of its own. */
function run(script: string, environment: Record<string, string> = {}) {
  const env = { ...process.env, ...environment };
  const flags = ['--input-type=module', '--eval', script];
  return spawnSync(process.execPath, flags, { env, encoding: 'utf8' });
}
