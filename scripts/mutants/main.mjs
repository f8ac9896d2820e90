// Makes the mistakes of mutants-list.mjs, one at a time, in a copy of the repository, and runs the
// tests that should notice. Fails if one goes unnoticed: then a test is missing.
//
// Usage: node scripts/mutants.mjs [part of a name]
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { MUTANTS } from './mutants-list.mjs';

/** A mistake may also show as a test that never ends. */
const TIMEOUT_MS = 300_000;

/**
 * Nobody reads the traces of what fails here. Warnings are expected: a mistake leaves things unused,
 * and conditions that never hold.
 */
const QUICK = { CARGO_PROFILE_DEV_DEBUG: '0', RUST_BACKTRACE: '0', RUSTFLAGS: '-Awarnings' };

const target = join(resolve(process.env.CARGO_TARGET_DIR ?? 'target'), 'mutants');
const wanted = process.argv[2] ?? '';
const mutants = MUTANTS.filter(({ name }) => name.includes(wanted));
if (mutants.length === 0) fail(`no mutant has ${JSON.stringify(wanted)} in its name`);

const copy = mkdtempSync(join(tmpdir(), 'vectord-mutants-'));
process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
process.once('SIGINT', () => process.exit(1));
copyRepository();

console.log('without a mistake');
for (const line of new Set(mutants.map(({ tests }) => tests.join(' ')))) {
  if (!(await passes(line.split(' ')))) fail(`the tests fail as they are: ${line}`);
}
const unnoticed = [];
for (const mutant of mutants) if (!(await isNoticed(mutant))) unnoticed.push(mutant);
for (const { name, file } of unnoticed) console.error(`unnoticed: ${name} (${file})`);
console.log(`${mutants.length - unnoticed.length} of ${mutants.length} mistakes were noticed`);
process.exitCode = unnoticed.length === 0 ? 0 : 1;

/** What git knows or would know, as it is now. */
function copyRepository() {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const paths = execFileSync('git', [...args, 'crates', 'Cargo.*'], { encoding: 'utf8' });
  for (const path of paths.split('\0').filter((name) => name !== '')) {
    mkdirSync(join(copy, dirname(path)), { recursive: true });
    cpSync(path, join(copy, path));
  }
}

async function isNoticed({ name, file, from, to, tests }) {
  const path = join(copy, file);
  const sound = readFileSync(path, 'utf8');
  if (sound.split(from).length !== 2) fail(`${name}: the text is not in ${file} exactly once`);
  writeFileSync(
    path,
    sound.replace(from, () => to),
  );
  const startedAtMs = performance.now();
  if ((await cargo(['--no-run', ...tests])) !== 0) {
    fail(`${name}: this does not compile`);
  }
  const noticed = !(await passes(tests));
  writeFileSync(path, sound);
  const seconds = Math.round((performance.now() - startedAtMs) / 1000);
  console.log(`${noticed ? 'noticed' : 'UNNOTICED'}: ${name} (${seconds} s)`);
  return noticed;
}

async function passes(tests) {
  return (await cargo(tests)) === 0;
}

/**
 * Runs cargo's tests until they end, one fails, or it takes too long. Answers the exit status, null
 * if it did not come to one.
 */
async function cargo(args) {
  const child = spawn('cargo', ['test', '--locked', '--package', 'vectord-engine', ...args], {
    cwd: copy,
    env: { ...process.env, ...QUICK, CARGO_TARGET_DIR: target },
    stdio: ['ignore', 'pipe', 'ignore'],
    // A group of its own: what cargo has started ends with it.
    detached: true,
  });
  const end = () => process.kill(-child.pid, 'SIGKILL');
  const timer = setTimeout(end, TIMEOUT_MS);
  createInterface(child.stdout).on('line', (line) => {
    if (/^test .* FAILED$/.test(line) && child.exitCode === null) end();
  });
  const [status] = await once(child, 'exit');
  clearTimeout(timer);
  return status;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
