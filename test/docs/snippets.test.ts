import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { connect } from '../../src/client/node.js';
import { ROOT, run } from '../examples/run.js';
import { findGrpcurl } from '../support/tools.mjs';
import { ownFolder, Vectord } from '../support/vectord.js';
import { linkClone } from './as-built.js';
import { blocksOf, USER_PAGES, type Block, type Page } from './pages.js';

/** Languages that are run, unless the block is marked. */
const RUN = new Set(['sh', 'js']);

/** npm takes its time to start a command, on a busy machine. */
const PATIENCE = { timeout: 120_000 };

/** Commands that speak to a service, in a clone and where vectord is installed. */
const CLIENT_COMMAND = /\b(?:npm start --|vectord) (?:import|export|bench)\b/g;

/** The README has a test of its own. */
const pages = USER_PAGES.filter(({ path }) => path !== 'README.md');
const runnable = pages.filter((page) => codeOf(page, 'sh', 'js').length > 0);

test('the pages with commands are found', () => {
  const paths = runnable.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining(['docs/IMPORT.md', 'docs/QUICKSTART.md', 'docs/V1.md']),
  );
});

describe.each(pages)('$path', (page) => {
  test('has no code that is neither run, nor parsed, nor marked', () => {
    const others = blocksOf(page).filter(
      ({ mark, language }) => mark === undefined && !RUN.has(language),
    );
    for (const { language, code } of others) expect(parsed(language, code)).not.toEqual([]);
  });
});

describe.each(runnable)('$path', PATIENCE, (page) => {
  const needsGrpcurl = codeOf(page, 'sh').some(({ code }) => code.includes('grpcurl'));

  test.skipIf(needsGrpcurl && findGrpcurl() === undefined)('has code that works', async () => {
    const { folder, dataPath } = ownFolder();
    // As on the pages: without a keys file of its own, in ./data of the clone.
    const vectord = await Vectord.start({ DATA_PATH: dataPath, DIMENSION: '4' });
    linkClone(folder);
    const bin = installIn(folder);
    // The service has not the usual ports.
    const here = (code: string): string =>
      code
        .replaceAll(CLIENT_COMMAND, `$& --url grpc://${vectord.value('gRPC')}`)
        .replaceAll('http://127.0.0.1:3000', vectord.value('HTTP'))
        .replaceAll('127.0.0.1:50051', vectord.value('gRPC'));
    const { keys } = JSON.parse(readFileSync(join(dataPath, 'keys.json'), 'utf8'));
    const options = { cwd: folder, env: { VECTORD_KEY: keys[0].key } };

    // A backup needs something that is stored.
    if (page.path === 'docs/OPERATIONS.md') await storeOne(vectord.value('HTTP'), keys[0].key);

    const commands = codeOf(page, 'sh').map(({ code }) => code);
    const script = [`set -eu\nPATH="${bin}:$PATH"`, ...commands].map(here).join('\n');
    const pasted = await run('sh', ['-c', script], options);
    expect(pasted.code, pasted.stdout + pasted.stderr).toBe(0);
    expect(refusalsIn(pasted.stdout)).toEqual([]);
    for (const { code } of codeOf(page, 'js')) {
      const args = ['--input-type=module', '--eval', here(code)];
      const ended = await run(process.execPath, args, options);
      expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    }
  });
});

async function storeOne(address: string, key: string): Promise<void> {
  const client = connect(address, { key });
  await client.upsert([{ vector: [1, 0, 0, 0] }]);
  client.close();
}

/** The blocks in these languages that are to be run here. */
function codeOf(page: Page, ...languages: readonly string[]): Block[] {
  return blocksOf(page).filter(
    ({ language, mark }) => languages.includes(language) && mark === undefined,
  );
}

/** What a block of data holds, or nothing if it cannot be read. */
function parsed(language: string, code: string): unknown[] {
  // Drawings and texts.
  if (['', 'text'].includes(language)) return [code];
  if (language === 'json') return [JSON.parse(code)];
  if (language !== 'yaml') return [];
  const documents = parseAllDocuments(code);
  return documents.flatMap(({ errors }) => errors).length > 0 ? [] : documents;
}

/** Lines of answers that tell of an error: curl ends well nevertheless. */
function refusalsIn(output: string): string[] {
  return output.split('\n').filter((line) => /"code": ?"[A-Z_]+"|^(?:Error|ERROR)/.test(line));
}

/** Makes the command of this repository look installed, for pages that say how to install it. */
function installIn(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const script = `#!/bin/sh\nexec node ${join(ROOT, 'dist/main.js')} "$@"\n`;
  writeFileSync(join(bin, 'vectord'), script, { mode: 0o755 });
  return bin;
}
