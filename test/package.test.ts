import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openClients, type TestPoint } from './support/clients.js';
import { makeTemporaryFolder } from './support/folders.js';
import { packagesFolder } from './support/packages.js';
import { findProgram } from './support/tools.mjs';
import { ownFolder, Vectord } from './support/vectord.js';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const { napi, version } = readManifest(ROOT);

/** What npm installs the packages into. */
const folder = makeTemporaryFolder();
const modules = join(folder, 'node_modules');
const vectordFolder = join(modules, 'vectord');
const launch = { command: [join(modules, '.bin/vectord')], cwd: folder };

/** The names of those that npm has installed: of all platforms that of this machine. */
let platformPackages: string[];

/** A program that is only compiled. */
const CONSUMER = `
import { connect, VectordError, type Client, type Filter, type Point } from 'vectord';
const client: Client = connect('http://127.0.0.1:3000', { key: 'x', deadlineMs: 1 });
export const found: readonly Point[] = await client.search(
  { vector: Float32Array.of(1), similarity: 'Cosine', limit: 1, include: ['distance'] },
);
export const vector: Float32Array | undefined = found[0]?.vector;
for await (const { id } of client.scroll({ order: 'newest' })) id.toLowerCase();

interface Own { readonly year: number; readonly tags?: readonly string[] }
declare const own: Own;
const point = { vector: [1] };
await client.upsert([{ ...point, metadata: own }]);
await client.upsert([{ ...point, metadata: { year: 1 } }, point, { ...point, metadata: { tag: 'x' } }]);
await client.update([{ id: '', metadata: own }, { id: '' }]);
await client.bulk([{ ...point, metadata: own }]);
// @ts-expect-error -- no date
await client.upsert([{ ...point, metadata: { at: new Date() } }]);
// @ts-expect-error -- no member has this name
await client.upsert([{ ...point, metdata: { year: 1 } }]);

const filter: Filter = { year: { $gte: 3, $lt: 5 }, $not: { $or: [{ tag: 'x' }, { 'größe': { $in: [1] } }] } };
await client.count({ filter: { $and: [filter, { $not: filter }], $id: { $ne: '' }, $content_type: 'Text' } });
// @ts-expect-error -- no operator has this name
await client.count({ filter: { year: { $gtt: 3 } } });
// @ts-expect-error -- an operator begins with a dollar
await client.count({ filter: { year: { gte: 3 } } });
// @ts-expect-error -- no operator has this name
await client.deleteMatching({ $not: { year: { $gtt: 3 } } });

const near = { similarity: 'Cosine', limit: 1 } as const;
await client.searchAll([{ ...near, vector: [1] }, { ...near, like: '' }]);
// @ts-expect-error -- a vector and a point
await client.search({ ...near, vector: [1], like: '' });
// @ts-expect-error -- neither
await client.search({ ...near });
// @ts-expect-error -- no similarity has this name
await client.search({ like: '', similarity: 'cosine', limit: 1 }).catch((error: unknown) => {
  if (error instanceof VectordError && error.code === 'NOT_FOUND') return;
});
`;

const LANGCHAIN_CONSUMER = `
import { Document } from '@langchain/core/documents';
import type { Embeddings } from '@langchain/core/embeddings';
import { connect } from 'vectord';
import { VectordVectorStore } from 'vectord/langchain';
declare const embeddings: Embeddings;
const client = connect('http://127.0.0.1:3000');
const store = new VectordVectorStore(embeddings, { client, similarity: 'Euclidean', ef: 100 });
const ids: string[] = await store.addDocuments([new Document({ pageContent: '' })], { ids: ['1'] });
export const found: Document[] = await store.asRetriever({ k: ids.length }).invoke('');
// @ts-expect-error -- no similarity has this name
await VectordVectorStore.fromDocuments([], embeddings, { client, similarity: 'cosine' });
// @ts-expect-error -- no option has this name
export const other = new VectordVectorStore(embeddings, { client, collectionName: 'a' });
`;

const EMBEDDED_CONSUMER = `
import type { Client, Point } from 'vectord';
import { open, type EmbeddedClient } from 'vectord/embedded';
const client: EmbeddedClient = await open({ dimension: 2, warmMetrics: ['Cosine'] });
export const asAny: Client = client;
export const points: readonly Point[] = await client.search({ like: '', similarity: 'Cosine', limit: 1 });
// @ts-expect-error -- no similarity has this name
await open({ warmMetrics: ['cosine'] });
`;

/** A PATH without Rust and compilers: what npm and the packages need, and nothing else. */
const PATH = linkPrograms('node', 'npm', 'sh');

beforeAll(() => {
  const packages = packagesFolder();
  const tarballs = readdirSync(packages).map((name) => join(packages, name));
  // Of optional ones npm leaves out those of other platforms.
  npm('install', '--prefix', '.', '--no-audit', '--no-fund', '--save-optional', ...tarballs);
  platformPackages = readdirSync(modules).filter((name) => name.startsWith('vectord-'));
}, 120_000);

test('the packages hold what is needed at run time, and nothing to build', () => {
  expect(readdirSync(vectordFolder).toSorted()).toEqual(
    [
      'LICENSE',
      'README.md',
      'deploy',
      'dist',
      'docs',
      'native',
      'package.json',
      'proto',
    ].toSorted(),
  );
  expect(readdirSync(join(vectordFolder, 'docs')).toSorted()).toEqual([
    'grafana-dashboard.json',
    'openapi.yaml',
    'prometheus-alerts.yml',
  ]);
  const files = readdirSync(vectordFolder, { recursive: true, encoding: 'utf8' });
  expect(files.filter((file) => /\.(?:map|node)$|\.test\./.test(file))).toEqual([]);
  const sources = files.filter((file) => /\.[cm]?ts$/.test(file));
  expect(sources.filter((file) => !/^dist\/.*\.d\.ts$/.test(file))).toEqual([]);
  expect(platformPackages).toHaveLength(1);
  const manifest = readManifest(vectordFolder);
  expect(manifest.scripts).toBeUndefined();
  expect(manifest.devDependencies).toBeUndefined();
  const versions = Object.values(manifest.optionalDependencies ?? {});
  expect(versions).toEqual(napi?.targets.map(() => version));
});

test('a package of the clone itself has the addon of this machine', () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const output = execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8' });
  // npm 10 runs `prepare` nevertheless, and prints what that says before the list.
  const list = output.slice(output.search(/^\[$/m));
  const [packed] = JSON.parse(list) as [{ readonly files: readonly { readonly path: string }[] }];
  const paths = packed.files.map(({ path }) => path);
  expect(paths).toContain(addonPath());
  expect(paths).toContain('dist/main.js');
});

test('points are stored and found over both interfaces', async () => {
  const vectord = await Vectord.start({ ...ownFolder().environment, PATH }, launch);
  for (const client of openClients(vectord.addresses)) {
    const [near] = await client.insertBatch([point(1, 0, 0, 0), point(0, 0, 0, 1)]);
    const query = { vector: [1, 0, 0, 0], similarity: 'Euclidean', limit: 1 } as const;
    expect(await client.search(query)).toEqual([near]);
    await client.delete(near ?? '');
    client.close();
  }
  for (const path of ['/docs/openapi.yaml', '/console', '/console/assets/console.js']) {
    const file = await fetch(vectord.value('HTTP') + path);
    expect(file.status, path).toBe(200);
    await file.text();
  }
  expect(await vectord.stop()).toEqual({ code: 0, signal: null });
});

test('a file of Parquet is read by a library that only its readers install', async () => {
  const path = join(makeTemporaryFolder(), 'x.parquet');
  writeFileSync(path, '');
  const vectord = new Vectord({ PATH }, ['import', path], launch);
  expect(await vectord.exit).toEqual({ code: 1, signal: null });
  expect(vectord.stderr).toContain('reading Parquet needs a library that is not installed');
  expect(vectord.stderr).toContain('"npm install hyparquet"');
  expect(vectord.stderr).toContain('in a clone `npm ci` does it');
});

describe('an import of the package', () => {
  test('stores and finds points over both interfaces', async () => {
    const vectord = await Vectord.start({ ...ownFolder().environment, PATH }, launch);
    const addresses = [vectord.value('HTTP'), `grpc://${vectord.value('gRPC')}`];
    const script = `
      const { connect } = await import('vectord');
      for (const address of ${JSON.stringify(addresses)}) {
        const client = connect(address, { key: 'the-key' });
        const { ids } = await client.upsert([{ vector: [1, 0, 0, 0], content: address }]);
        const query = { vector: [1, 0, 0, 0], similarity: 'Cosine', limit: 1, include: ['content'] };
        const [found] = await client.search(query);
        console.log(found.id === ids[0] && found.content === address);
        await client.delete(ids);
      }`;
    // It comes to its end by itself: connections that nobody uses keep no process.
    expect(run('node', ['--input-type=module', '--eval', script])).toBe('true\ntrue\n');
    expect(await vectord.stop()).toEqual({ code: 0, signal: null });
  });

  const CONNECT = `
    const [root, client] = await Promise.all([import('vectord'), import('vectord/client')]);
    console.log(root.connect === client.connect, root.idFor('x') === client.idFor('x'));`;

  test('is the client, and starts nothing', () => {
    expect(node(CONNECT)).toBe('true true\n');
    expect(existsSync(join(folder, 'data'))).toBe(false);
    expect(node(`console.log(require('vectord/package.json').version)`)).toBe(`${version}\n`);
  });

  test('opens an engine in the process', () => {
    const script = `
      const { open } = await import('vectord/embedded');
      const client = await open({ path: 'embedded', dimension: 2 });
      await client.upsert([{ vector: [1, 0], content: 'here' }]);
      const query = { vector: [1, 0], similarity: 'Cosine', limit: 1, include: ['content'] };
      const [{ content }] = await client.search(query);
      console.log(content);
      await client.close();`;
    expect(run('node', ['--input-type=module', '--eval', script])).toBe('here\n');
    writeFileSync(join(folder, 'embedded.mts'), EMBEDDED_CONSUMER);
    expectCompiles('embedded.mts', ['--module', 'nodenext', '--skipLibCheck']);
  });

  test('is its half over HTTP for browsers', () => {
    const script = `
      const { connect } = await import('vectord');
      try { connect('grpc://127.0.0.1'); } catch ({ message }) { console.log(message); }`;
    const args = ['--conditions=browser', '--input-type=module', '--eval', script];
    expect(run('node', args)).toContain('the half of the client that speaks HTTP alone');
  });

  test('has a store for LangChain.js, if its core is there', () => {
    const script = `
      const { connect } = await import('vectord');
      const { VectordVectorStore } = await import('vectord/langchain');
      const client = connect('http://127.0.0.1:3000');
      console.log(new VectordVectorStore({}, { client })._vectorstoreType());`;
    const core = join(modules, '@langchain');
    expect(() => node(script)).toThrow("Cannot find package '@langchain/core'");
    symlinkSync(join(ROOT, 'node_modules/@langchain'), core);
    onTestFinished(() => rmSync(core));
    expect(node(script)).toBe('vectord\n');
    writeFileSync(join(folder, 'langchain.mts'), LANGCHAIN_CONSUMER);
    expectCompiles('langchain.mts', ['--module', 'nodenext', '--skipLibCheck']);
  });

  const BUNDLER = ['--module', 'esnext', '--moduleResolution', 'bundler'];
  const BROWSER = ['--customConditions', 'browser', '--types', '', '--lib', 'es2022,dom'];

  test.each([
    ['Node.js', ['--module', 'nodenext', '--skipLibCheck']],
    ['Node.js of before', ['--module', 'node16', '--skipLibCheck']],
    ['a bundler', [...BUNDLER, '--skipLibCheck']],
    ['a bundler for browsers', [...BUNDLER, ...BROWSER]],
  ])('has types for %s', (_, options) => {
    writeFileSync(join(folder, 'consumer.mts'), CONSUMER);
    expectCompiles('consumer.mts', options);
  });
});

describe('without a binary that loads', () => {
  beforeAll(() => {
    for (const name of platformPackages) rmSync(join(modules, name), { recursive: true });
  });

  test.each([[], ['check']])('vectord %s says in three lines what to do', async (...args) => {
    await expectThreeLines(args, `the package ${platformPackages[0]} with its binary is missing`);
  });

  test('so it does where the binary is of another platform', async () => {
    const addon = join(vectordFolder, addonPath());
    writeFileSync(addon, 'no library');
    onTestFinished(() => rmSync(addon));
    await expectThreeLines([], 'its binary cannot be loaded: ');
  });

  test('open of vectord/embedded says what to do, too', () => {
    const script = `
      import { open } from 'vectord/embedded';
      await open().catch(({ code, message }) => console.log(code, message));`;
    const said = run('node', ['--input-type=module', '--eval', script]);
    expect(said).toContain(
      `INVALID_ARGUMENT the package ${platformPackages[0]} with its binary is missing`,
    );
    expect(said).toContain('npm install --include=optional');
  });

  test('the help is there', async () => {
    const vectord = new Vectord({ PATH }, ['--help'], launch);
    expect(await vectord.exit).toEqual({ code: 0, signal: null });
    expect(vectord.stdout).toContain('DATA_PATH');
  });
});

async function expectThreeLines(args: readonly string[], reason: string): Promise<void> {
  const vectord = new Vectord({ ...ownFolder().environment, PATH }, args, launch);
  expect(await vectord.exit).toEqual({ code: 1, signal: null });
  const lines = vectord.stderr.trimEnd().split('\n');
  expect(lines).toHaveLength(3);
  expect(lines[1]).toContain(reason);
  expect(lines[2]).toContain('npm install --include=optional');
}

function npm(...args: readonly string[]): string {
  return run('npm', args);
}

/** What a script prints that runs where the package is installed. */
function node(script: string): string {
  return run('node', ['--eval', script]);
}

/** Compiles a program that uses the package, which has to be without a mistake. */
function expectCompiles(file: string, options: readonly string[]): void {
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  const args = ['--strict', '--noEmit', '--target', 'es2022', ...options, file];
  const { status, stdout } = spawnSync(tsc, args, { cwd: folder, encoding: 'utf8' });
  expect(stdout).toBe('');
  expect(status).toBe(0);
}

function run(program: string, args: readonly string[]): string {
  const env = { ...process.env, PATH };
  return execFileSync(join(PATH, program), args, {
    cwd: folder,
    env,
    encoding: 'utf8',
    stdio: 'pipe',
  });
}

/** A folder with links to programs that are on PATH, and nothing else. */
function linkPrograms(...names: readonly string[]): string {
  const links = join(folder, 'bin');
  mkdirSync(links);
  for (const name of names) symlinkSync(find(name), join(links, name));
  return links;
}

function find(name: string): string {
  const found = findProgram(name);
  if (found === undefined) throw new Error(`${name} is not on PATH`);
  return found;
}

/** Where a clone has the addon of this machine, and where the package looks for it first. */
function addonPath(): string {
  const [name = ''] = platformPackages;
  return `native/${name.replace('-', '.')}.node`;
}

interface Manifest {
  readonly version: string;
  readonly scripts?: unknown;
  readonly devDependencies?: unknown;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly napi?: { readonly targets: readonly string[] };
}

function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Manifest;
}

function point(...vector: readonly number[]): TestPoint {
  return { vector, contentType: 'Text', content: 'x' };
}
