// TypeDoc, with a TypeScript of its own: it reads sources by an interface that TypeScript 7 does not have.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { TYPEDOC_FOLDER } from '../../test/support/tools.mjs';
import { run } from '../installing.mjs';

const VERSIONS = { typedoc: '0.28.20', typescript: '6.0.3' };

/** Anew where its version or that of its TypeScript is another. */
export function installTypedoc() {
  if (Object.entries(VERSIONS).every(([name, version]) => installed(name) === version)) return;
  rmSync(TYPEDOC_FOLDER, { recursive: true, force: true });
  const packages = Object.entries(VERSIONS).map(([name, version]) => `${name}@${version}`);
  run('npm', ['install', '--prefix', TYPEDOC_FOLDER, '--no-audit', '--no-fund', ...packages]);
}

function installed(name) {
  const manifest = join(TYPEDOC_FOLDER, 'node_modules', name, 'package.json');
  return existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')).version : undefined;
}
