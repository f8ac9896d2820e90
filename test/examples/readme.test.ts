import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { idFor } from '../../src/client/node.js';
import { findGrpcurl } from '../support/tools.mjs';
import { ownFolder, Vectord } from '../support/vectord.js';
import { idsIn, ROOT, run } from './run.js';

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const blocks = Array.from(readme.matchAll(/^```sh\n(.*?)^```$/gms), ([, block = '']) => block);
const examples = Array.from(readme.matchAll(/^```js\n(.*?)^```$/gms), ([, code = '']) => code);
const isNpm = (block: string): boolean => /^(?:[A-Z_]+=\S+ )?npm /m.test(block);

test.skipIf(findGrpcurl() === undefined)(
  'what the README has its readers paste stores points and finds them',
  async () => {
    const { folder, dataPath } = ownFolder();
    const bin = makeCommand(folder);
    const vectord = await Vectord.start({ DATA_PATH: dataPath, DIMENSION: '4' });
    const script = ['set -eu', ...blocks.filter((block) => !isNpm(block))]
      .join('\n')
      .replaceAll('http://127.0.0.1:3000', vectord.value('HTTP'))
      .replaceAll('127.0.0.1:50051', vectord.value('gRPC'));
    const pasted = `PATH="${bin}:$PATH"\n${script}`;
    const { code, stdout, stderr } = await run('sh', ['-c', pasted], { cwd: folder });
    expect(code, stdout + stderr).toBe(0);
    const [cat, onlyResult, dog, ...results] = idsIn(stdout);
    expect(onlyResult).toBe(cat);
    expect(results).toEqual([cat, dog]);
    expect(stdout).toMatch(/^no damage$/m);
    expect(stdout).toMatch(/^restored .*:\n1 segments, \d+ records, 2 points, /m);
  },
);

test('the example of the client stores points, finds the nearest and lists all', async () => {
  expect(examples).toHaveLength(1);
  const [example = ''] = examples;
  const { environment } = ownFolder();
  const vectord = await Vectord.start(environment);
  const script = example.replace('127.0.0.1:50051', vectord.value('gRPC'));
  const args = ['--input-type=module', '--eval', script];
  // Here `vectord` is the package of this folder.
  const options = { cwd: ROOT, env: { VECTORD_KEY: 'the-key' } };
  const { code, stdout, stderr } = await run(process.execPath, args, options);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^a cat { legs: 4 }\n/);
  const [cat, bird] = [idFor('cat'), idFor('bird')];
  expect(stdout).toMatch(new RegExp(`\n${cat} a cat\n${bird} a bird\n$`));
});

/** A folder with the command `vectord`, as `npm link` puts it on the PATH. */
function makeCommand(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const main = join(ROOT, 'dist/main.js');
  writeFileSync(join(bin, 'vectord'), `#!/bin/sh\nexec node ${main} "$@"\n`, { mode: 0o755 });
  return bin;
}

test('the npm commands of the README are there', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const commands = blocks.filter(isNpm).flatMap((block) => block.trim().split(/\n| && /));
  expect(commands).toContain('DIMENSION=4 npm start');
  for (const command of commands) {
    const [, name = ''] = /npm (?:run )?(\S+)$/.exec(command) ?? [];
    expect(name === 'ci' || name in scripts, command).toBe(true);
  }
});

test('the files that pages link to are there', () => {
  const folders = ['.', 'bench', 'clients/python', 'docs', 'docs/decisions', 'docs/performance'];
  const pages = [...folders.flatMap(pagesIn), 'examples/demo/data/README.md'];
  const links = pages.flatMap((page) => linksOf(page).map((link) => join(dirname(page), link)));
  expect(links.length).toBeGreaterThan(200);
  expect(links.filter((link) => !existsSync(join(ROOT, link)))).toEqual([]);
});

function pagesIn(folder: string): string[] {
  const names = readdirSync(join(ROOT, folder)).filter((name) => name.endsWith('.md'));
  return names.map((name) => join(folder, name));
}

/** Files, without addresses and places within a page. */
function linksOf(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return Array.from(text.matchAll(/\]\(([^)#:]+)[)#]/g), ([, link = '']) => link);
}
