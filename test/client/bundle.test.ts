import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { beforeAll, describe, expect, test } from 'vitest';
import { ROOT, run, type Ended } from '../examples/run.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { startServer, type TestServer } from '../support/server.js';

type Format = 'esm' | 'cjs';

const FORMATS: readonly Format[] = ['esm', 'cjs'];

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

/** Ways to the same client; each program counts the points of a service without any. */
const CONNECTED = `
  import { connect } from 'vectord';
  const client = connect(process.argv[2], { key: process.env.VECTORD_KEY });
  client.count().then(
    (count) => console.log('points', count),
    ({ code, message }) => console.log(code, message),
  ).finally(() => client.close());`;

const EMBEDDED = `
  import { open } from 'vectord/embedded';
  open({ dimension: 4 }).then(async (client) => {
    console.log('points', await client.count());
    await client.close();
  });`;

/** A folder with vectord in its node_modules. */
function folderWithVectord(): string {
  const folder = makeTemporaryFolder();
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/vectord'));
  return folder;
}

/** Bundles a program into a file in `folder`, and runs it there. */
async function runBundled(
  program: string,
  format: Format,
  { folder = makeTemporaryFolder(), external = [] as string[], args = [] as string[] } = {},
): Promise<Ended> {
  const outfile = join(folder, format === 'esm' ? 'app.mjs' : 'app.cjs');
  const stdin = { contents: program, resolveDir: folderWithVectord() };
  await build({ stdin, bundle: true, external, platform: 'node', format, outfile });
  const env = { VECTORD_KEY: server.keys.readwrite };
  return await run(process.execPath, [outfile, ...args], { cwd: folder, env });
}

describe.each(FORMATS)('a bundle for Node.js as %s', (format) => {
  test('speaks HTTP without anything beside it', async () => {
    const ended = await runBundled(CONNECTED, format, { args: [server.http] });
    expect(ended).toEqual({ code: 0, stdout: 'points 0\n', stderr: '' });
  });

  test('speaks gRPC without anything beside it', async () => {
    const program = `${CONNECTED}
      process.on('exit', () => console.log(typeof globalThis.require));`;
    const ended = await runBundled(program, format, { args: [`grpc://${server.grpc}`] });
    expect(ended).toEqual({ code: 0, stdout: 'points 0\nundefined\n', stderr: '' });
  });

  test('speaks gRPC with vectord beside it', async () => {
    const external = ['vectord'];
    const args = [`grpc://${server.grpc}`];
    const folder = folderWithVectord();
    const ended = await runBundled(CONNECTED, format, { folder, external, args });
    expect(ended).toEqual({ code: 0, stdout: 'points 0\n', stderr: '' });
  });

  test('opens an engine with vectord beside it', async () => {
    const external = ['vectord'];
    const ended = await runBundled(EMBEDDED, format, { folder: folderWithVectord(), external });
    expect(ended).toEqual({ code: 0, stdout: 'points 0\n', stderr: '' });
  });
});

test('a bundle for browsers has the half that speaks HTTP, and runs without Node.js in it', async () => {
  const stdin = { contents: CONNECTED, resolveDir: folderWithVectord() };
  const outfile = join(makeTemporaryFolder(), 'page.mjs');
  // It refuses what browsers do not have.
  await build({ stdin, bundle: true, platform: 'browser', format: 'esm', outfile });
  const env = { VECTORD_KEY: server.keys.readwrite };
  const ended = await run(process.execPath, [outfile, server.http], { env });
  expect(ended).toEqual({ code: 0, stdout: 'points 0\n', stderr: '' });
});

test('a bundle for Node.js that speaks HTTP alone does not carry the half of gRPC', async () => {
  const contents = CONNECTED.replace("'vectord'", "'vectord/http'");
  const stdin = { contents, resolveDir: folderWithVectord() };
  const outfile = join(makeTemporaryFolder(), 'app.mjs');
  const { metafile } = await build({
    stdin,
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    metafile: true,
  });
  const parts = Object.keys(metafile.inputs);
  expect(parts.filter((part) => /grpc|protobuf|node_modules\/(?!uuid\/)/.test(part))).toEqual([]);
  const env = { VECTORD_KEY: server.keys.readwrite };
  const ended = await run(process.execPath, [outfile, server.http], { env });
  expect(ended).toEqual({ code: 0, stdout: 'points 0\n', stderr: '' });
});

test('a program of CommonJS requires the package', async () => {
  const folder = folderWithVectord();
  const program = `
    const { connect } = require('vectord');
    const { open } = require('vectord/embedded');
    console.log(typeof connect, typeof open);`;
  writeFileSync(join(folder, 'app.cjs'), program);
  const { stdout } = await run(process.execPath, ['app.cjs'], { cwd: folder });
  expect(stdout).toBe('function function\n');
});
