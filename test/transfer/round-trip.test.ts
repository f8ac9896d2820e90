import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Client, NewPoint, Point } from '../../src/client/node.js';
import { all, id, open } from '../client/open.js';
import { startServer, type TestServer } from '../support/server.js';
import { begin, endOf, fileOf, run } from './command.js';

const POINTS: readonly NewPoint[] = [
  { id: id(1), vector: [0.1, -0, 1e-45, 3.4028234663852886e38], content: 'plain' },
  { id: id(2), vector: [1, 2, 3, 4], content: 'a, "b"\r\nline two\n', contentType: 'Image' },
  { id: id(3), vector: [0, 0, 0, 0], content: '', metadata: {} },
  {
    id: id(4),
    vector: [-1, 0.25, 1 / 3, 2],
    content: '\uFEFFключ \u{1F511} \u0001 \uFEFF',
    metadata: { year: 2024, tags: ['a', 'b'], ok: true, none: null, big: 1e300, zero: -0, '': '"' },
  },
  { id: id(5), vector: [5, 5, 5, 5], content: '  [1]  ', metadata: { list: [], n: [1.5, -2] } },
];

let server: TestServer;
let client: Client;

beforeAll(async () => {
  server = await startServer();
  client = open(server, 'grpc');
});

async function points(): Promise<readonly Point[]> {
  return await all(client.scroll({ include: ['vector', 'content', 'contentType', 'metadata'] }));
}

/** The bits of vectors are compared, in which 0 and -0 differ. */
function bitsOf(list: readonly Point[]) {
  return list.map(({ vector, ...rest }) => {
    const { buffer } = vector ?? new Float32Array();
    return { ...rest, bits: [...new Uint32Array(buffer.slice(0))] };
  });
}

describe.each([
  ['all.jsonl', []],
  ['all.ndjson', ['--base64']],
  ['all.jsonl.gz', []],
  ['all.csv', []],
  ['all.csv.gz', ['--base64']],
  ['all.parquet', []],
  ['all.arrow', []],
  ['all.feather', []],
  ['all.npy', []],
  ['all.fvecs', []],
  ['all.fvecs.gz', []],
])('%s %j', (name, options) => {
  test('an import of an export has equal points, bit for bit', async () => {
    await client.deleteAll(await client.count());
    await client.upsert(POINTS);
    const before = await points();
    const path = fileOf(name);
    expect(await run(server, 'export', path, ...options)).toMatchObject({ code: 0, stderr: '' });
    await client.deleteAll(await client.count());
    const texts = `${path}.texts.jsonl`;
    const more = existsSync(texts) ? ['--texts', texts] : [];
    // The other interface than the one of the export.
    const command = begin(server, ['import', path, ...more], server.http);
    expect(await endOf(command)).toMatchObject({
      code: 0,
      stderr: '',
      stdout: '5 points stored, 0 replaced, 0 rows rejected\n',
    });
    expect(bitsOf(await points())).toEqual(bitsOf(before));
  });
});

test.each(['csv', 'parquet', 'arrow', 'npy'])(
  'a file of no points is written and read as .%s',
  async (extension) => {
    await client.deleteAll(await client.count());
    const path = fileOf(`none.${extension}`);
    const written = await run(server, 'export', path);
    expect(written.stdout).toMatch(/^0 points written to /);
    const read = await run(server, 'import', path);
    expect([written.code, read.code, read.stderr]).toEqual([0, 0, '']);
  },
);

test('only points that pass a filter are exported, and a file that is there is kept', async () => {
  await client.deleteAll(await client.count());
  await client.upsert(POINTS);
  const path = fileOf('some.jsonl');
  const filtered = ['export', path, '--filter', '{"year": {"$gte": 2024}}'];
  expect(await run(server, ...filtered)).toMatchObject({
    code: 0,
    stdout: `1 point written to ${path}\n`,
  });
  expect(await run(server, 'export', path)).toMatchObject({
    code: 1,
    stderr: `vectord export failed: ${path} exists, and nothing was changed: --force replaces it\n`,
  });
  expect(await run(server, 'export', path, '--force')).toMatchObject({
    code: 0,
    stdout: `5 points written to ${path}\n`,
  });
  expect(existsSync(`${path}.partial`)).toBe(false);
});

test.each([
  ['a folder', (path: string) => void mkdirSync(path)],
  ['a pipe', (path: string) => void execFileSync('mkfifo', [path])],
  ['a link to nothing', (path: string) => symlinkSync(`${path}.none`, path)],
  ['a folder', (path: string) => symlinkSync(dirname(path), path)],
])('an export leaves %s alone, whatever the options: %#', async (kind, make) => {
  for (const suffix of ['', '.texts.jsonl']) {
    const path = fileOf('all.npy');
    make(path + suffix);
    const { code, stderr } = await run(server, 'export', path, '--force');
    expect(stderr).toContain(`${path}${suffix} is ${kind}, and nothing was changed: expected`);
    expect(code).toBe(1);
    expect(readdirSync(dirname(path))).toEqual([`all.npy${suffix}`]);
  }
});

test('an export replaces what a link points at', async () => {
  const [link, file] = [fileOf('all.jsonl'), fileOf('old.txt', 'old')];
  symlinkSync(file, link);
  await client.upsert(POINTS);
  expect((await run(server, 'export', link)).stderr).toContain('exists, and nothing was changed');
  expect((await run(server, 'export', link, '--force')).code).toBe(0);
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readFileSync(file, 'utf8')).toContain(`{"id":"${id(1)}"`);
  expect(readdirSync(dirname(file))).toEqual(['old.txt']);
});

test.each([
  [['-'], 'Expected a path: write ./- if that is the name'],
  [['all.npy.gz'], 'write it without .gz'],
  [['all.bvecs'], '.bvecs holds bytes'],
  [['all.parquet.gz'], 'parquet is not read or written in gzip'],
  [['all.txt'], 'the name does not tell the format'],
  [['all', '--format', 'bvecs'], 'Allowed choices are npy, fvecs, jsonl, csv, parquet, arrow.'],
  [['all.txt', '--format', 'xml'], "argument 'xml' is invalid"],
  [['all.jsonl', '--filter', '[]'], 'Expected an object of JSON'],
])('an export to %j is refused as bad usage', async (args, message) => {
  const { code, stderr } = await run(server, 'export', ...args);
  expect(stderr).toContain(message);
  expect(code).toBe(2);
});
