import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeTemporaryFolder } from './folders.js';
import type { Launch } from './vectord.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The service, in a folder with all of its packages but for those of a scope, such as `@nats-io`. */
export function serviceWithout(scope: string): { folder: string; launch: Launch } {
  const folder = makeTemporaryFolder();
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (name !== scope) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }
  for (const name of ['dist', 'docs', 'package.json', 'proto']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'native'), join(folder, 'native'));
  return {
    folder,
    launch: { command: [process.execPath, join(folder, 'dist/main.js')], cwd: folder },
  };
}

/** The packages that a refused start says have to be installed, with their versions. */
export function packagesToInstall(output: string): readonly string[] {
  return (/^ {2}npm install (.+)$/m.exec(output)?.[1] ?? '').split(' ');
}
