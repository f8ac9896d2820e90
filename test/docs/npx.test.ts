import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { run } from '../examples/run.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { packagesFolder } from '../support/packages.js';
import { Registry } from '../support/registry.js';
import { Vectord } from '../support/vectord.js';
import { blocksOf, PAGES, type Block } from './pages.js';

let registry: Registry;

beforeAll(async () => {
  const packages = packagesFolder();
  registry = await Registry.start(packages);
}, 120_000);

afterAll(() => registry.close());

test(
  'the first minute of the README works with the published packages, in an empty folder',
  { timeout: 180_000 },
  async () => {
    const home = makeTemporaryFolder();
    const folder = join(home, 'empty');
    mkdirSync(folder);
    const env = {
      HOME: home,
      PATH: process.env['PATH'] ?? '',
      npm_config_registry: registry.url,
      npm_config_cache: join(home, 'cache'),
      npm_config_update_notifier: 'false',
    };
    const [start, commands] = blocks('sh');
    const [program] = blocks('js');

    const vectord = await startBy(start?.code ?? '', { ...env, LOOPS: '1' }, folder);
    const here = (code = ''): string =>
      code
        .replaceAll('http://127.0.0.1:3000', vectord.value('HTTP'))
        .replaceAll('127.0.0.1:50051', vectord.value('gRPC'));

    const options = { cwd: folder, env };
    const printKey = `\nprintf '\\n%s' "$VECTORD_KEY"`;
    const pasted = await run('sh', ['-ec', here(commands?.code) + printKey], options);
    expect(pasted.code, pasted.stderr).toBe(0);
    const [answers = '', key = ''] = pasted.stdout.split(/\n(?=[^\n]*$)/);
    expect(answers).toMatch(/"stored":2,.*"distance":0\.00\d+,"content":"a cat"/s);

    const installed = await run('npm', ['install', '--no-audit', '--no-fund', 'vectord'], options);
    expect(installed.code, installed.stderr).toBe(0);
    writeFileSync(join(folder, 'first.mjs'), here(program?.code));
    const withKey = { cwd: folder, env: { ...env, VECTORD_KEY: key } };
    const ended = await run(process.execPath, ['first.mjs'], withKey);
    expect(ended).toEqual({ code: 0, stdout: "[ 'a bird', 'a fish' ]\n", stderr: '' });
  },
);

/** Starts a service by the command of the page, and stops it, with what has started it, at the end. */
async function startBy(
  command: string,
  env: Record<string, string>,
  cwd: string,
): Promise<Vectord> {
  const vectord = new Vectord(env, [], { command: ['sh', '-c', command], cwd, detached: true });
  onTestFinished(async () => {
    process.kill(-(vectord.process.pid ?? 0), 'SIGTERM');
    await vectord.exit;
  });
  await vectord.until(() => /^ready$/m.test(vectord.stdout), 120_000);
  return vectord;
}

function blocks(language: string): Block[] {
  const readme = PAGES.find(({ path }) => path === 'README.md');
  return readme === undefined
    ? []
    : blocksOf(readme).filter((block) => block.language === language);
}
