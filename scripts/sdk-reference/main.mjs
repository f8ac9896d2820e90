// Writes the reference of the clients as HTML from the comments in their sources: of the package for
// TypeScript by TypeDoc, of the Python client by pdoc. Public names without documentation are errors, and
// so are all warnings. What it needs is installed into .cache/ the first time, which needs a network.
//
// Usage: npm run docs:reference [-- FOLDER]      FOLDER is reference/ unless told otherwise
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { PYTHON_CLIENT_FOLDER, PYTHON_CLIENT_PYTHON, TYPEDOC } from '../../test/support/tools.mjs';
import { installRequirements } from '../installing.mjs';
import { installTypedoc } from './typedoc.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const folder = resolve(process.argv[2] ?? join(ROOT, 'reference'));

try {
  installTypedoc();
  installRequirements(PYTHON_CLIENT_FOLDER, 'clients/python/requirements-test.txt');
  writeTypeScript(join(folder, 'typescript'));
  writePython(join(folder, 'python'));
} catch (error) {
  console.error(String(error.stderr || error.message).trim());
  process.exitCode = 1;
}

function writeTypeScript(target) {
  const options = ['--options', join(ROOT, 'scripts/sdk-reference/typedoc.json')];
  run(process.execPath, [TYPEDOC, ...options, '--out', target, '--logLevel', 'Warn']);
  console.log(join(target, 'index.html'));
}

/** Of the client as it is installed: it asks there for its version. */
function writePython(target) {
  rmSync(target, { recursive: true, force: true });
  const installed = mkdtempSync(join(tmpdir(), 'vectord-reference-'));
  const env = { ...process.env, PYTHONPATH: installed, PIP_DISABLE_PIP_VERSION_CHECK: '1' };
  try {
    const install = ['install', '--quiet', '--no-deps', '--no-build-isolation'];
    const client = join(ROOT, 'clients/python');
    run(PYTHON_CLIENT_PYTHON, ['-m', 'pip', ...install, '--target', installed, client], env);
    run(PYTHON_CLIENT_PYTHON, [join(ROOT, 'scripts/sdk-reference/python.py'), target], env);
  } finally {
    rmSync(installed, { recursive: true });
  }
  console.log(join(target, 'index.html'));
}

function run(program, args, env = process.env) {
  const { status, error } = spawnSync(program, args, { stdio: 'inherit', env });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}`);
}
