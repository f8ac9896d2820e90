import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installWheel } from '../clients/python-wheel.js';
import { ROOT, run } from '../examples/run.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { PYTHON_CLIENT_PYTHON } from '../support/tools.mjs';
import { linkClone } from './as-built.js';
import {
  ANSWERS,
  CURL,
  interrupt,
  paste,
  PYTHON,
  readme,
  RUN_PYTHON,
  RUN_TYPESCRIPT,
  SET_UP_AND_START,
  SET_UP_AND_TEST,
  START,
  startBy,
  TAKE_KEY,
  here,
  TYPESCRIPT,
  type Terminal,
} from './first-points.js';
import { blocksOf, PAGES } from './pages.js';

/** Compilers and npm on a busy machine. */
const PATIENCE_MS = 120_000;

/** Node.js 22.18 and newer. */
const RUNS_TYPESCRIPT = Reflect.get(process.features, 'typescript') === 'strip';

describe('the README', () => {
  test('begins with the command that sets up and starts, and the one that sets up and tests', () => {
    const [beginning = ''] = readme().text.split(/^- /m);
    const codes = blocksOf({ path: '', text: beginning }).map(({ code }) => code);
    expect(codes).toEqual(['npm ci && npm start\n', 'npm ci && npm test\n']);
    expect(codes).toEqual([SET_UP_AND_START, SET_UP_AND_TEST]);
  });

  test('has no other code than what is run here and in clone.test.ts', () => {
    const languages = blocksOf(readme()).map(({ language }) => language);
    expect(languages).toEqual(['sh', 'sh', 'sh', 'sh', 'sh', 'ts', 'sh', 'sh', 'python', 'sh']);
  });

  test('has the commands that .ci/run begins with', () => {
    const script = readFileSync(join(ROOT, '.ci/run'), 'utf8');
    const commands = script.match(/^npm [^|\n]*\w/gm) ?? [];
    expect(`${commands.slice(0, 2).join(' && ')}\n`).toBe(SET_UP_AND_TEST);
  });
});

describe('in a clone in which everything is built', { timeout: PATIENCE_MS }, () => {
  const parent = makeTemporaryFolder();
  const clone = join(parent, 'vectord');
  let terminal: Terminal;

  beforeAll(async () => {
    linkClone(clone);
    const { PATH = '' } = process.env;
    const env = { PATH, HOME: parent, LOOPS: '1', npm_config_update_notifier: 'false' };
    const service = await startBy(START, { cwd: clone, env }, PATIENCE_MS);
    terminal = { cwd: clone, env, service };
  }, PATIENCE_MS);

  afterAll(() => interrupt(terminal.service));

  test('the calls of curl store points and find the nearest', async () => {
    const { code, stdout, stderr } = await paste(terminal, TAKE_KEY, CURL);
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(ANSWERS.curl);
  });

  test('the program in TypeScript does as well', async () => {
    writeFileSync(join(clone, 'first.mjs'), here(terminal.service, TYPESCRIPT));
    const ended = await paste(terminal, TAKE_KEY, RUN_TYPESCRIPT);
    expect(ended).toEqual({ code: 0, stdout: ANSWERS.typescript, stderr: '' });
  });

  test.skipIf(!RUNS_TYPESCRIPT)('it runs as a file of TypeScript as well', async () => {
    writeFileSync(join(clone, 'first.ts'), here(terminal.service, TYPESCRIPT));
    const ended = await paste(terminal, TAKE_KEY, 'node first.ts');
    expect(ended).toMatchObject({ code: 0, stdout: ANSWERS.typescript });
  });

  test('it has no mistake in its types', async () => {
    writeFileSync(join(clone, 'first.ts'), TYPESCRIPT);
    const options = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext'];
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    const { code, stdout } = await run(tsc, [...options, 'first.ts'], { cwd: clone });
    expect(code, stdout).toBe(0);
  });

  test.skipIf(!existsSync(PYTHON_CLIENT_PYTHON))(
    'the program in Python does as well, with its client from the clone',
    async () => {
      symlinkSync(dirname(dirname(installWheel().python)), join(clone, '.venv'));
      writeFileSync(join(clone, 'first.py'), here(terminal.service, PYTHON));
      const ended = await paste(terminal, TAKE_KEY, RUN_PYTHON);
      expect(ended).toEqual({ code: 0, stdout: ANSWERS.python, stderr: '' });
    },
  );

  test('a program in another folder uses the clone, once npm has linked it', async () => {
    const folder = join(parent, 'program');
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), '{}');
    const page = PAGES.find(({ path }) => path === 'docs/CLIENTS.md');
    const blocks = page === undefined ? [] : blocksOf(page);
    const link = blocks.find(({ mark }) => mark?.includes('readme.test.ts'))?.code ?? '';
    expect(link).toMatch(/^npm install .*\.\.\/vectord$/m);
    const linked = await paste({ ...terminal, cwd: folder }, link);
    expect(linked.code, linked.stderr).toBe(0);
    writeFileSync(join(folder, 'first.mjs'), here(terminal.service, TYPESCRIPT));
    const { stdout: key } = await paste(terminal, TAKE_KEY, `printf %s "$VECTORD_KEY"`);
    const env = { ...terminal.env, VECTORD_KEY: key };
    const ended = await paste({ ...terminal, cwd: folder, env }, RUN_TYPESCRIPT);
    expect(ended).toEqual({ code: 0, stdout: ANSWERS.typescript, stderr: '' });
  });
});
