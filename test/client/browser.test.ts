import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, run } from '../examples/run.js';
import { startServer } from '../support/server.js';

const ENTRY = join(ROOT, 'dist/client/browser.js');

/** The modules that a built one loads, and those that they load: files, and names of packages. */
function modulesOf(entry: string): Set<string> {
  const found = new Set([entry]);
  // What is added while it is walked is walked, too.
  for (const file of found) {
    if (!file.endsWith('.js')) continue;
    const imports = readFileSync(file, 'utf8').matchAll(/\b(?:from|import)\s*\(?\s*'([^']+)'/g);
    for (const [, name = ''] of imports) {
      found.add(name.startsWith('.') ? join(dirname(file), name) : name);
    }
  }
  return found;
}

test('the half for browsers loads nothing of Node.js and nothing of gRPC', () => {
  const modules = [...modulesOf(ENTRY)];
  const packages = modules.filter((name) => !name.endsWith('.js'));
  expect(packages).toEqual(['uuid']);
  const folders = modules
    .filter((name) => name.endsWith('.js'))
    .map((file) => relative(join(ROOT, 'dist'), dirname(file)));
  expect([...new Set(folders)].toSorted()).toEqual(['client', 'client/bulk', 'client/http']);
  // The walk would find them.
  const ofNode = modulesOf(join(ROOT, 'dist/client/node.js'));
  expect(ofNode).toContain('nice-grpc');
});

test('it names nothing that browsers do not have', async () => {
  const options = ['--module', 'esnext', '--moduleResolution', 'bundler', '--target', 'es2023'];
  // Without the types of Node.js, its `Buffer` and `process` are unknown.
  const platform = ['--types', '', '--lib', 'es2023,esnext.string,dom'];
  const file = join(ROOT, 'src/client/browser.ts');
  const args = ['--ignoreConfig', '--strict', '--noEmit', ...options, ...platform, file];
  const { code, stdout } = await run(join(ROOT, 'node_modules/.bin/tsc'), args);
  expect(stdout).toBe('');
  expect(code).toBe(0);
});

test('it stores, finds and lists points', async () => {
  const { http, keys } = await startServer();
  const script = `
    const { connect, idFor } = await import('vectord');
    const client = connect('${http}', { key: '${keys.readwrite}' });
    const vector = Float32Array.of(0.1, -0, 1e-45, 3);
    const id = idFor('a cat');
    await client.bulk([{ id, vector, content: 'a cat', metadata: { legs: 4 } }, { vector }]);
    const query = { vector, similarity: 'Euclidean', limit: 1, include: ['vector', 'metadata'] };
    const [found] = await client.search(query);
    const isSame = found.vector.every((value, at) => Object.is(value, vector[at]));
    let count = 0;
    for await (const point of client.scroll()) count += 1;
    console.log(JSON.stringify([found.id === id, isSame, found.metadata, count]));
    client.close();`;
  const args = ['--conditions=browser', '--input-type=module', '--eval', script];
  const { code, stdout, stderr } = await run(process.execPath, args, { cwd: ROOT });
  expect(stdout, stderr).toBe('[true,true,{"legs":4},2]\n');
  expect(code).toBe(0);
});
