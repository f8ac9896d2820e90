// How programs of others are installed into .cache/.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const TIMEOUT_MS = 600_000;

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** A Python environment with what a file of requirements names. */
export function installRequirements(folder, path) {
  const requirements = join(ROOT, path);
  makeFrom([requirements], folder, () => {
    createPythonEnvironment(folder, '--requirement', requirements);
  });
}

/** Makes a folder anew when the files that it is made from have changed. */
export function makeFrom(sources, folder, make) {
  const madeFrom = join(folder, 'made-from');
  const hash = hashOf(sources);
  if (existsSync(madeFrom) && readFileSync(madeFrom, 'utf8') === hash) return;
  rmSync(folder, { recursive: true, force: true });
  make();
  writeFileSync(madeFrom, hash);
}

function hashOf(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(file).update(readFileSync(file));
  return hash.digest('hex');
}

/** A fresh one, or none: a half-made one would stay half-made. */
export function createPythonEnvironment(folder, ...requirements) {
  rmSync(folder, { recursive: true, force: true });
  try {
    run('python3', ['-m', 'venv', folder]);
    const install = ['install', '--quiet', '--disable-pip-version-check', ...requirements];
    run(join(folder, 'bin', 'python'), ['-m', 'pip', ...install]);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Whether a program is there, and says what it is to say. */
export function canRun(program, args, expected = '') {
  try {
    return run(program, args).includes(expected);
  } catch {
    return false;
  }
}

/** Answers what the program prints; throws if it fails. */
export function run(program, args, options = {}) {
  const common = { stdio: 'pipe', timeout: TIMEOUT_MS, encoding: 'utf8' };
  return execFileSync(program, args, { ...common, ...options });
}
