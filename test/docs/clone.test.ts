import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ROOT } from '../examples/run.js';
import { makeTemporaryFolder } from '../support/folders.js';
import {
  ANSWERS,
  CURL,
  here,
  INSTALL_PYTHON_CLIENT,
  interrupt,
  paste,
  PYTHON,
  RUN_PYTHON,
  RUN_TYPESCRIPT,
  SET_UP_AND_START,
  START,
  startBy,
  TAKE_KEY,
  TYPESCRIPT,
} from './first-points.js';

/** It fetches all packages and compiles the engine, on a busy machine. */
const PATIENCE_MS = 1_200_000;

test.skipIf(!existsSync(join(ROOT, '.git')))(
  'the README works from its beginning, in a fresh clone of the last commit',
  { timeout: PATIENCE_MS },
  async () => {
    const home = makeTemporaryFolder();
    const clone = join(home, 'vectord');
    execFileSync('git', ['clone', '--quiet', ROOT, clone]);
    const env = strangersEnvironment(home);

    const first = await startBy(SET_UP_AND_START, { cwd: clone, env }, PATIENCE_MS);
    onTestFinished(() => interrupt(first));
    expect(first.value('dimension')).toMatch(/^384 /);
    await interrupt(first);

    const service = await startBy(START, { cwd: clone, env }, PATIENCE_MS);
    onTestFinished(() => interrupt(service));
    writeFileSync(join(clone, 'first.mjs'), here(service, TYPESCRIPT));
    writeFileSync(join(clone, 'first.py'), here(service, PYTHON));
    const terminal = { cwd: clone, env, service };
    const code = [TAKE_KEY, CURL, RUN_TYPESCRIPT, INSTALL_PYTHON_CLIENT, RUN_PYTHON];
    const pasted = await paste(terminal, ...code);
    expect(pasted.code, pasted.stderr).toBe(0);
    expect(pasted.stdout).toMatch(ANSWERS.curl);
    expect(pasted.stdout).toContain(ANSWERS.typescript);
    expect(pasted.stdout).toContain(ANSWERS.python);
  },
);

/**
 * The environment of somebody who has Node.js and Rust, and nothing of this project: neither its
 * programs nor the settings of the npm that runs the tests.
 */
function strangersEnvironment(home: string): Record<string, string> {
  const { PATH = '', CARGO_HOME, RUSTUP_HOME } = process.env;
  const others = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm|VITEST|NODE_ENV)/.test(name),
  );
  const path = PATH.split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return {
    ...(Object.fromEntries(others) as Record<string, string>),
    PATH: path.join(delimiter),
    HOME: home,
    CARGO_HOME: CARGO_HOME ?? join(homedir(), '.cargo'),
    RUSTUP_HOME: RUSTUP_HOME ?? join(homedir(), '.rustup'),
    LOOPS: '1',
  };
}
