// Makes the mistakes of the lists beside it, one at a time, in a copy of the repository, and runs
// the tests that should notice. Fails if one goes unnoticed: then a test is missing.
//
// Usage: node scripts/mutants/main.mjs [part of a name or of a file ...]
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { MUTANTS } from './lists.mjs';
import { Rust } from './rust.mjs';
import { TypeScript } from './typescript.mjs';

const parts = process.argv.slice(2);
const isWanted = ({ name, file }) =>
  parts.length === 0 || parts.some((part) => name.includes(part) || file.includes(part));
const mutants = MUTANTS.filter(isWanted);
if (mutants.length === 0) fail(`no mutant has ${JSON.stringify(parts)} in its name or file`);

const copy = mkdtempSync(join(tmpdir(), 'vectord-mutants-'));
// Tests of missing rights run the service as another user, or not at all.
chmodSync(copy, 0o755);
process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
process.once('SIGINT', () => process.exit(1));
copyRepository();

const unnoticed = [];
for (const Language of [TypeScript, Rust]) {
  const its = mutants.filter(({ file }) => file.endsWith(Language.extension));
  if (its.length === 0) continue;
  const language = new Language(copy);
  await expectSound(language, its);
  for (const mutant of its) if (!(await isNoticed(language, mutant))) unnoticed.push(mutant);
}
for (const { name, file } of unnoticed) console.error(`unnoticed: ${name} (${file})`);
console.log(`${mutants.length - unnoticed.length} of ${mutants.length} mistakes were noticed`);
process.exitCode = unnoticed.length === 0 ? 0 : 1;

/** What git knows or would know, as it is now. */
function copyRepository() {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const paths = execFileSync('git', args, { encoding: 'utf8' });
  for (const path of paths.split('\0').filter((name) => name !== '')) {
    mkdirSync(join(copy, dirname(path)), { recursive: true });
    cpSync(path, join(copy, path));
  }
}

/** The tests pass as long as there is no mistake. */
async function expectSound(language, its) {
  console.log(`without a mistake in ${language.constructor.extension} files`);
  for (const line of new Set(its.map(({ tests }) => JSON.stringify(tests)))) {
    const tests = JSON.parse(line);
    if (!(await language.builds(tests))) fail(`this does not compile as it is: ${line}`);
    if (!(await language.passes(tests))) fail(`the tests fail as they are: ${line}`);
  }
}

async function isNoticed(language, { name, file, from, to, tests }) {
  const path = join(copy, file);
  const sound = readFileSync(path, 'utf8');
  if (sound.split(from).length !== 2) fail(`${name}: the text is not in ${file} exactly once`);
  writeFileSync(
    path,
    sound.replace(from, () => to),
  );
  const startedAtMs = performance.now();
  const builds = await language.builds(tests);
  const noticed = builds && !(await language.passes(tests));
  writeFileSync(path, sound);
  const seconds = Math.round((performance.now() - startedAtMs) / 1000);
  const outcome = noticed ? 'noticed' : builds ? 'UNNOTICED' : 'DOES NOT COMPILE';
  console.log(`${outcome}: ${name} (${seconds} s)`);
  return noticed;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
