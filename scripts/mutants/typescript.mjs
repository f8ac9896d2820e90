import { cpSync, existsSync, readdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { run, runTests } from './run.mjs';

/** The server: `tests` of a mutant are arguments of `vitest run`, a file first. */
export class TypeScript {
  static extension = '.ts';
  #options;

  /** The addon is the one that is there: only what is around it has mistakes. */
  constructor(copy) {
    this.#options = { cwd: copy };
    // Some tests run programs of others, see test/support/tools.mjs.
    for (const name of ['node_modules', '.cache']) {
      if (!existsSync(join(copy, name))) symlinkSync(resolve(name), join(copy, name));
    }
    for (const name of readdirSync('native').filter((file) => file.endsWith('.node'))) {
      cpSync(join('native', name), join(copy, 'native', name));
    }
  }

  async builds() {
    return await run(program('tsc'), ['--project', 'tsconfig.build.json'], this.#options);
  }

  async passes(tests) {
    const args = ['run', '--bail=1', '--no-file-parallelism', ...tests];
    return await runTests(program('vitest'), args, this.#options);
  }
}

function program(name) {
  return join('node_modules', '.bin', name);
}
