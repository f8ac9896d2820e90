import { join, resolve } from 'node:path';
import process from 'node:process';
import { run, runTests } from './run.mjs';

/**
 * Nobody reads the traces of what fails here. Warnings are expected: a mistake leaves things unused,
 * and conditions that never hold.
 */
const QUICK = { CARGO_PROFILE_DEV_DEBUG: '0', RUST_BACKTRACE: '0', RUSTFLAGS: '-Awarnings' };

/** The engine: `tests` of a mutant are arguments of `cargo test`. */
export class Rust {
  static extension = '.rs';
  #options;

  constructor(copy) {
    const target = join(resolve(process.env.CARGO_TARGET_DIR ?? 'target'), 'mutants');
    this.#options = { cwd: copy, env: { ...process.env, ...QUICK, CARGO_TARGET_DIR: target } };
  }

  async builds(tests) {
    return await run('cargo', cargoTest('--no-run', ...tests), this.#options);
  }

  async passes(tests) {
    return await runTests('cargo', cargoTest(...tests), this.#options, saysFailure);
  }
}

function saysFailure(line) {
  return /^test .* FAILED$/.test(line);
}

function cargoTest(...args) {
  const packages = ['vectord-engine', 'vectord-bench', 'vectord-json', 'vectord-filter'];
  return ['test', '--locked', ...packages.flatMap((name) => ['--package', name]), ...args];
}
